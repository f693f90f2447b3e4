// Reading: the state, its changes, its past, and the daemon.
extension Request {
    /// Requests the current state.
    public static let get = Request(.get)
    /// Ends the watch that has no id.
    public static let unwatch = Request(.unwatch)
    /// Requests the states, operations and limits.
    public static let describe = Request(.describe)
    /// Requests the counters and the connections.
    public static let stats = Request(.stats)
    /// Has the daemon read its settings and the machine's file again, as its own user and root may.
    public static let reload = Request(.reload)
    /// Requests a sign of life.
    public static let ping = Request(.ping)
    /// Requests a short text for people.
    public static let help = Request(.help)

    /// Requests every change.
    ///
    /// - Parameters:
    ///   - since: the cursor of the last line seen; later changes are replayed.
    ///   - only: which states; if empty, every state.
    ///   - pace: how often lines are sent; rounded up to milliseconds.
    /// - Returns: the request.
    public static func watch(
        since: String? = nil,
        only: [Pattern] = [],
        pace: Pace = Pace()
    ) -> Request {
        let call = WatchCall(
            since: since,
            only: only.isEmpty ? nil : PatternList(only),
            mode: pace.isLatest ? .latest : .all,
            everyMs: pace.every?.wholeMilliseconds ?? 0,
            beatMs: pace.beat?.wholeMilliseconds
        )
        return Request(.watch(call))
    }

    /// Requests an answer once a state is reached.
    ///
    /// - Parameters:
    ///   - until: the states to wait for.
    ///   - fail: the states that fail the wait; they take precedence.
    ///   - since: changes after this cursor are evaluated too.
    ///   - timeout: rounded up to milliseconds; nil waits for ever.
    /// - Returns: the request.
    public static func wait(
        until: [Pattern],
        fail: [Pattern] = [],
        since: String? = nil,
        timeout: Duration? = nil
    ) -> Request {
        let timeoutMs = timeout?.wholeMilliseconds
        return Request(
            .wait(
                WaitCall(
                    until: PatternList(until),
                    fail: PatternList(fail),
                    since: since,
                    timeoutMs: timeoutMs
                )
            )
        )
    }

    /// Which end of the past an answer starts from.
    public enum HistoryOrder: String, CaseIterable, Hashable, Sendable {
        /// The oldest change first.
        case oldest
        /// The newest change first.
        case newest
    }

    /// Requests the changes that the daemon still has.
    ///
    /// - Parameters:
    ///   - since: only those after this cursor; an unusable one is ignored, and the reply says so.
    ///   - limit: how many at most; the daemon has a limit of its own.
    ///   - only: which states; if empty, every state.
    ///   - order: which end to start from.
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - uid: only those of this user.
    ///   - program: only those of commands or units of this name, if no user is given.
    ///   - cause: only those whose cause contains this text; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func history(
        since: String? = nil,
        limit: UInt64? = nil,
        only: [Pattern] = [],
        order: HistoryOrder = .oldest,
        after: HistoryPlace? = nil,
        before: HistoryPlace? = nil,
        by uid: UInt32? = nil,
        program: String? = nil,
        cause: String? = nil
    ) -> Request {
        Request(
            .history(
                HistoryCall(
                    since: since,
                    limit: limit,
                    only: only.isEmpty ? nil : PatternList(only),
                    order: order == .oldest ? nil : order,
                    after: after,
                    before: before,
                    by: uid.map { .user($0) } ?? program.map { .program($0) },
                    cause: cause
                )
            )
        )
    }

    /// Requests an outline of the changes that the daemon still has: which states were entered, and
    /// when.
    ///
    /// - Parameters:
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - limit: how many at most; the daemon has a limit of its own.
    /// - Returns: the request.
    public static func outline(
        after: HistoryPlace? = nil,
        before: HistoryPlace? = nil,
        limit: UInt64? = nil
    ) -> Request {
        Request(
            .history(HistoryCall(limit: limit, after: after, before: before, isOutline: true))
        )
    }

    /// The same request, of a search that tells how far it has come while it finds nothing.
    package var reportingProgress: Request {
        guard case .history(var call) = self.call else { return self }
        call.reportsProgress = true
        return Request(id: self.id, .history(call))
    }
}
