import StateMachineCore
import StateMachineProtocol

/// The requests of one client that live on, in the order in which they came, and what they cost it and its user.
///
/// Belongs to the event loop.
final class StandingRequests {
    private let server: StateServer
    private let user: User

    var watches: [Watch] = [] {
        didSet {
            let change = self.watches.count - oldValue.count
            if change != 0 { self.server.watchesChanged(by: change) }
            self.charge()
        }
    }
    /// Those that have not been answered.
    var waits: [Wait] = [] {
        didSet { self.charge() }
    }
    /// Holds and guards.
    var voters: [SocketVoter] = [] {
        didSet { self.charge() }
    }

    /// Bytes of the lines that asked for them.
    private var bytes = 0 {
        didSet { self.user.requestBytes += self.bytes - oldValue }
    }
    /// Those of their patterns that count towards ``ServerLimits/exceptingPatternsPerUid``.
    private var exceptingPatterns = 0 {
        didSet { self.user.exceptingPatterns += self.exceptingPatterns - oldValue }
    }

    init(server: StateServer, user: User) {
        self.server = server
        self.user = user
    }

    private func charge() {
        self.bytes =
            self.watches.reduce(0) { $0 + $1.request.count }
            + self.waits.reduce(0) { $0 + $1.request.count }
            + self.voters.reduce(0) { $0 + $1.record.request.count }
        self.exceptingPatterns =
            self.waits.reduce(0) { $0 + $1.call.exceptingPatterns }
            + self.voters.reduce(0) { $0 + $1.patterns.inexactPatterns }
    }

    /// Refuses a request whose patterns with exceptions would exceed the user's limit; `which` names what the user may
    /// end, for the message.
    func checkExceptions(_ patterns: Int, of which: String) throws(WireError) {
        guard patterns > 0, !self.user.mayExcept(patterns) else { return }
        throw WireError(
            .limit,
            "too many patterns with \"!\", \"!=\" or several values: this user's waits, holds and guards have "
                + "\(self.user.exceptingPatterns), and exceptingPatternsPerUid allows "
                + "\(ServerLimits.exceptingPatternsPerUid); end \(which) first"
        )
    }

    /// Refuses one more thing of a kind if the connection has reached its limit.
    func checkRoom(_ things: String, _ count: Int, of limit: Int) throws(WireError) {
        guard count < limit else {
            throw WireError(
                .limit,
                "this connection already has \(limit) \(things), the most that it may have; end one first"
            )
        }
    }

    /// Refuses to keep one more request if that would be too many bytes.
    func checkRoom(for line: [UInt8]) throws(WireError) {
        let limits = self.server.limits
        guard self.bytes + line.count <= limits.requestBytesPerConnection else {
            throw WireError(
                .limit,
                "this request of \(line.count) bytes cannot be kept: the requests of this connection already "
                    + "have \(self.bytes) bytes, and requestBytesPerConnection allows "
                    + "\(limits.requestBytesPerConnection); end a watch, wait or hold first"
            )
        }
        guard self.user.mayKeep(line.count, within: limits) else {
            throw WireError(
                .limit,
                "this request of \(line.count) bytes cannot be kept: the requests of this user already have "
                    + "\(self.user.requestBytes) bytes, and requestBytesPerUid allows "
                    + "\(limits.requestBytesPerUid); end a watch, wait or hold first"
            )
        }
    }
}
