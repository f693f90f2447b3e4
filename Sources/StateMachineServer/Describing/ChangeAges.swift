import StateMachineCore
import StateMachineProtocol

/// How long ago changes were made, whatever becomes of the wall clock while the daemon runs.
///
/// A change shows the wall clock of its moment. By how much that clock has been set since is noted here.
struct ChangeAges {
    /// How far the two clocks may drift apart before the wall clock is taken to have been set.
    private static let tolerance: Int64 = 1_000_000

    /// How many settings are told from each other.
    ///
    /// 64: a clock that is set more often than that while a state lasts measures nothing.
    private static let limit = 64

    /// By how many microseconds the wall clock was set forward, after that change and before the next.
    private var settings: [(seq: UInt64, shift: Int64)] = []
    /// What the wall clock showed beyond the uptime when it was last looked at, and the newest change then.
    private var offset: Int64
    private var head: UInt64

    init(_ now: StayMoment, head: UInt64) {
        self.offset = now.wall.microseconds &- now.uptime
        self.head = head
    }

    /// Looks at the clocks; changes up to `head` have been made.
    mutating func look(at now: StayMoment, head: UInt64) {
        let shift = now.wall.microseconds &- now.uptime &- self.offset
        if shift.magnitude > Self.tolerance.magnitude {
            self.settings.append((self.head, shift))
            self.offset &+= shift
            if self.settings.count > Self.limit { self.settings.removeFirst() }
        }
        self.head = head
    }

    /// The milliseconds since a change.
    func age(of seq: UInt64, at stamp: WallTime, _ now: StayMoment) -> Int64 {
        let shift = self.settings.reduce(0) { $1.seq >= seq ? $0 &+ $1.shift : $0 }
        return max(0, now.wall.microseconds &- stamp.microseconds &- shift) / 1000
    }
}
