import StateMachineProtocol

/// Counts the bytes of a connection's requests, which are kept as long as what they asked for.
///
/// Belongs to the event loop.
final class KeptRequests {
    private let server: StateServer
    private let user: User
    private var bytes = 0 {
        didSet { self.user.requestBytes += self.bytes - oldValue }
    }

    private var exceptingPatterns = 0 {
        didSet { self.user.exceptingPatterns += self.exceptingPatterns - oldValue }
    }

    init(server: StateServer, user: User) {
        self.server = server
        self.user = user
    }

    /// Counts so many more bytes as kept.
    func change(by bytes: Int) { self.bytes += bytes }

    /// Counts so many more patterns towards ``ServerLimits/exceptingPatternsPerUid``.
    func except(by patterns: Int) { self.exceptingPatterns += patterns }

    /// Refuses so many more such patterns if the user's become too many; `which` says what has them.
    func checkExceptions(_ patterns: Int, of which: String) throws(WireError) {
        guard patterns > 0, !self.user.mayExcept(patterns) else { return }
        throw WireError(
            .limit,
            "this user's \(which) already have \(self.user.exceptingPatterns) patterns, and "
                + "exceptingPatternsPerUid allows \(ServerLimits.exceptingPatternsPerUid); end one first"
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
