import StateMachineCore
import StateMachineProtocol

/// The machine's state at the ring's head, and, as far as known, who brought it there and why.
///
/// Belongs to the event loop.
struct PresentState {
    private(set) var snapshot: EncodedSnapshot
    private var origin = ChangeOrigin()
    /// When the present stay began; nil if that was before this run.
    private(set) var began: WallTime?

    init(_ snapshot: EncodedSnapshot) {
        self.snapshot = snapshot
        self.began = snapshot.beginsStay ? snapshot.at : nil
    }

    /// Who brought it there.
    var by: Peer? { self.origin.by }

    /// Enters a state; returns what was left.
    mutating func enter(
        _ entered: EncodedSnapshot,
        by: Peer?,
        cause: String?
    ) -> EncodedSnapshot {
        let left = exchange(&self.snapshot, with: entered)
        self.origin = ChangeOrigin(by: by, cause: cause)
        if entered.beginsStay { self.began = entered.at }
        return left
    }

    /// Notes that the present stay's deadline has begun anew.
    mutating func renewed(_ stay: ServerLine.Stay) {
        guard self.snapshot.stay?.seq == stay.seq else { return }
        self.snapshot.stay = stay
    }

    /// Replaces the snapshot after a redeclaration, unless the machine has moved on.
    mutating func showAgain(_ snapshot: EncodedSnapshot) {
        guard self.snapshot.seq == snapshot.seq else { return }
        self.snapshot = snapshot
    }

    /// Notes who made the change `seq`, and why, unless the machine has moved on.
    mutating func learned(_ by: Peer?, _ cause: String?, of seq: UInt64) {
        guard self.snapshot.seq == seq else { return }
        self.origin = ChangeOrigin(by: by, cause: cause)
    }

    /// Writes who made the change `seq`, and why, if that is the current one.
    func writeOrigin(of seq: UInt64, to writer: inout LineWriter) {
        guard seq == self.snapshot.seq else { return }
        if let by = self.origin.by { writer.peer(.by, by) }
        if let cause = self.origin.cause { writer.string(.cause, cause) }
    }
}

extension EncodedSnapshot {
    /// Whether the stay began with it.
    fileprivate var beginsStay: Bool { self.stay.map { $0.seq == self.seq } ?? true }

    /// The report of the snapshot as lines show it.
    func report(in epoch: Epoch) -> ServerLine.Report {
        ServerLine.Report(
            seq: self.seq,
            fragment: self.state.fragment,
            at: self.at,
            epoch: epoch,
            stay: self.stay
        )
    }
}

/// Who brought a machine to its state, and why, as far as that is known.
struct ChangeOrigin {
    private(set) var by: Peer?
    private(set) var cause: String?

    init(by: Peer? = nil, cause: String? = nil) {
        self.by = by
        self.cause = cause
    }
}

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
