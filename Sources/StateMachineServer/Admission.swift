/// Who may connect, and when: decides, does nothing.
///
/// Every connection is charged to its user. Root and the daemon's own user have places in reserve and
/// are not counted otherwise.
struct Admission {
    /// What becomes of a connection.
    enum Decision: Equatable {
        /// It is served, after so many nanoseconds.
        case admit(afterNanoseconds: Int64)
        /// There is no place for it; which limit that is.
        case turnAway(limit: String, max: Int)
    }

    /// May change; who is there stays.
    var limits: ServerLimits
    private let ownUid: UInt32
    private(set) var total = 0
    private var users: [UInt32: User] = [:]

    /// What one user has taken, kept for as long as it says anything.
    private struct User {
        var connections = 0
        /// When the next accept is due if they come as fast as they may, less the burst: GCRA, the
        /// token bucket without a timer.
        var nextAt: Int64 = .min
    }

    init(limits: ServerLimits, ownUid: UInt32) {
        self.limits = limits
        self.ownUid = ownUid
    }

    mutating func arrived(_ uid: UInt32, at now: Int64) -> Decision {
        let isExempt = uid == 0 || uid == self.ownUid
        let places = self.limits.connections - (isExempt ? 0 : self.limits.connectionsInReserve)
        guard self.total < places else {
            return .turnAway(limit: "connections", max: places)
        }
        var user = self.users[uid] ?? User()
        var wait: Int64 = 0
        if !isExempt {
            let places = self.limits.connectionsPerUid
            guard user.connections < places else {
                return .turnAway(limit: "connectionsPerUid", max: places)
            }
            let interval = 1_000_000_000 / Int64(max(self.limits.acceptsPerSecond, 1))
            let tolerance = interval * Int64(max(self.limits.acceptBurst - 1, 0))
            user.nextAt = max(user.nextAt, now) + interval
            wait = max(user.nextAt - interval - tolerance - now, 0)
        }
        user.connections += 1
        self.total += 1
        self.users[uid] = user
        return .admit(afterNanoseconds: wait)
    }

    /// It had its place in the last process; whatever the limits are, it has one here.
    mutating func returned(_ uid: UInt32) {
        self.users[uid, default: User()].connections += 1
        self.total += 1
    }

    mutating func left(_ uid: UInt32, at now: Int64) {
        guard var user = self.users[uid] else { return }
        self.total -= 1
        user.connections -= 1
        self.users[uid] = user.connections == 0 && user.nextAt <= now ? nil : user
    }
}
