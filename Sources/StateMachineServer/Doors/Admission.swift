import StateMachineProtocol

/// Decides who may connect, and when; does nothing itself.
///
/// Every connection is charged to its user. Root and the daemon's own user have slots in reserve and
/// are not counted otherwise.
struct Admission {
    /// What becomes of a connection.
    enum Decision: Equatable {
        /// It is served, after so many nanoseconds.
        case admit(afterNanoseconds: Int64)
        /// There is no place for it, because of that limit.
        case turnAway(limit: String, max: Int)
    }

    /// May change; those who are connected stay.
    var limits: ServerLimits
    private let ownUid: UInt32
    private(set) var total = 0
    private var users: [UInt32: User] = [:]

    /// What one user has taken, kept for as long as it matters.
    private struct User {
        var connections = 0
        /// When the next accept is due at the highest steady rate, not counting the burst: GCRA,
        /// the token bucket without a timer.
        var nextAt: Int64 = .min
    }

    /// The longest that a connection waits for its time, in nanoseconds; beyond that it is turned
    /// away.
    ///
    /// 2 s: up to that, a client that waits is served sooner than one that reconnects. Picked.
    private static let longestWait: Int64 = 2_000_000_000

    init(limits: ServerLimits, ownUid: UInt32) {
        self.limits = limits
        self.ownUid = ownUid
    }

    mutating func arrived(_ uid: UInt32, at door: Door, now: Int64) -> Decision {
        let isExempt = Users.isPrivileged(uid, ownUid: self.ownUid)
        let slots = self.slots(at: door, isExempt: isExempt)
        guard self.total < slots else {
            return .turnAway(limit: "connections", max: slots)
        }
        var user = self.users[uid] ?? User()
        var wait: Int64 = 0
        if !isExempt {
            let slots = self.limits.connectionsPerUid
            guard user.connections < slots else {
                return .turnAway(limit: "connectionsPerUid", max: slots)
            }
            let tolerance = self.interval * Int64(max(self.limits.acceptBurst - 1, 0))
            let time = max(user.nextAt, now)
            wait = max(time - tolerance - now, 0)
            guard wait <= Self.longestWait else {
                return .turnAway(limit: "acceptsPerSecond", max: self.limits.acceptsPerSecond)
            }
            user.nextAt = time + self.interval
        }
        user.connections += 1
        self.total += 1
        self.users[uid] = user
        return .admit(afterNanoseconds: wait)
    }

    /// The least time between two accepts of a user, in nanoseconds, apart from a burst.
    private var interval: Int64 { 1_000_000_000 / Int64(max(self.limits.acceptsPerSecond, 1)) }

    /// How many slots there are for such a connection, taken ones included.
    private func slots(at door: Door, isExempt: Bool) -> Int {
        let all = self.limits.connections
        let others = isExempt ? 0 : self.limits.connectionsInReserve
        switch door {
        case .control: return max(0, all - others)
        // Where there are few slots, the door for everybody has at least half of them.
        case .events:
            return max(0, all - others - min(self.limits.connectionsForControl, all / 2))
        }
    }

    /// Admits a connection of the last process again, whatever the limits are.
    mutating func returned(_ uid: UInt32) {
        self.users[uid, default: User()].connections += 1
        self.total += 1
    }

    /// Notes that a connection has ended.
    ///
    /// If its time had not come it was not served, and its user's next one need not wait for it.
    mutating func released(_ uid: UInt32, wasServed: Bool, now: Int64) {
        guard var user = self.users[uid] else { return }
        self.total -= 1
        user.connections -= 1
        if !wasServed, user.nextAt > now { user.nextAt -= self.interval }
        self.users[uid] = user.connections == 0 && user.nextAt <= now ? nil : user
    }
}
