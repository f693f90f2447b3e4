// Reading: the state, its changes, its past, and what there is.
extension Request {
    /// Asks for the current state.
    public static let get = Request(.get)
    /// Ends the watch that has no id.
    public static let unwatch = Request(.unwatch)
    /// Asks for the states, operations and limits.
    public static let describe = Request(.describe)
    /// Asks for the counters and the connections.
    public static let stats = Request(.stats)
    /// Asks for a sign of life.
    public static let ping = Request(.ping)
    /// Asks for a short text for people.
    public static let help = Request(.help)

    /// Asks for every change.
    ///
    /// - Parameters:
    ///   - since: the cursor of the last line that was seen; later changes are replayed.
    ///   - only: which states; none means every state.
    ///   - pace: how often there are lines; rounded up to milliseconds.
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

    /// Asks for an answer once a state is reached.
    ///
    /// - Parameters:
    ///   - until: the states to wait for.
    ///   - fail: the states that end the wait badly; they win.
    ///   - since: changes after this cursor are evaluated too.
    ///   - timeout: rounded up to milliseconds; nil means for ever.
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

    /// Which end of the past an answer begins at.
    public enum HistoryOrder: String, CaseIterable, Hashable, Sendable {
        /// The oldest change first.
        case oldest
        /// The newest change first.
        case newest
    }

    /// Asks for the changes that the daemon still has.
    ///
    /// - Parameters:
    ///   - since: only those after this cursor; one that cannot be used counts as left out, and the reply says so.
    ///   - limit: at most so many; the daemon has a limit of its own.
    ///   - only: which states; none means every state.
    ///   - order: which end to begin at.
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - uid: only those of this user.
    ///   - program: only those of commands or units of this name, if no user is given.
    ///   - cause: only those in whose cause this text is; at most 256 bytes of UTF-8.
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

    /// Asks for an outline of the changes that the daemon still has: which states were entered, and when.
    ///
    /// - Parameters:
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - limit: at most so many; the daemon has a limit of its own.
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
}
