public import StateMachineProtocol

/// How often a watch has lines.
public struct Pace: Hashable, Sendable {
    /// Whether changes that have not been sent when there is a newer one are left out; how many
    /// shows as ``Line/skipped``.
    public var isLatest: Bool
    /// The shortest time between two changes; nil means none.
    public var every: Duration?
    /// After which silence the daemon gives a sign of life; nil means never.
    public var beat: Duration?

    /// Every change at once, unless said otherwise.
    public init(isLatest: Bool = false, every: Duration? = nil, beat: Duration? = nil) {
        self.isLatest = isLatest
        self.every = every
        self.beat = beat
    }
}

extension Request {
    /// Asks for every change.
    ///
    /// - Parameters:
    ///   - since: the cursor of the last line that was seen; later changes are replayed.
    ///   - only: patterns, strings or objects; none means every state.
    ///   - pace: how often there are lines; rounded up to milliseconds.
    /// - Returns: the request.
    public static func watch(
        since: String? = nil,
        only: [JSONValue] = [],
        pace: Pace = Pace()
    ) -> Request {
        var request = Request("watch")
        request.add("since", since.map { .string($0) })
        request.add("only", only)
        request.add("mode", pace.isLatest ? "latest" : nil)
        request.add("everyMs", pace.every.map { .integer($0.wholeMilliseconds) })
        request.add("beatMs", pace.beat.map { .integer($0.wholeMilliseconds) })
        return request
    }

    /// Asks for the changes that the daemon still has, oldest first.
    ///
    /// - Parameters:
    ///   - since: only those after this cursor.
    ///   - limit: at most so many; the daemon has a limit of its own.
    ///   - only: patterns, strings or objects; none means every state.
    /// - Returns: the request.
    public static func history(
        since: String? = nil,
        limit: Int? = nil,
        only: [JSONValue] = []
    ) -> Request {
        var request = Request("history")
        request.add("since", since.map { .string($0) })
        request.add("limit", limit.map { .integer($0) })
        request.add("only", only)
        return request
    }
}
