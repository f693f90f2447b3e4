public import StateMachineProtocol

extension Request {
    /// What a hold does with a set that it matches.
    public enum HoldMode: String, CaseIterable, Hashable, Sendable {
        /// Refuses it.
        case block
        /// Lets it wait until the hold ends, for a time.
        case delay
    }

    /// What a guard's silence counts as.
    public enum Silence: String, CaseIterable, Hashable, Sendable {
        /// A yes.
        case allow
        /// A no.
        case deny
    }

    /// Asks for states not to be entered while the connection lasts.
    ///
    /// - Parameters:
    ///   - before: patterns of the states.
    ///   - mode: what happens to a set; nil leaves it to the daemon, whose default is to refuse it.
    ///   - limit: how long a set is delayed at most; rounded up to milliseconds, only for
    ///     ``HoldMode/delay``.
    ///   - why: for whoever is refused; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func hold(
        before: [JSONValue],
        mode: HoldMode? = nil,
        limit: Duration? = nil,
        why: String? = nil
    ) -> Request {
        var request = Request("hold")
        request.add("before", before)
        request.add("mode", mode.map { .string($0.rawValue) })
        request.add("maxMs", limit.map { .integer($0.wholeMilliseconds) })
        request.add("why", why.map { .string($0) })
        return request
    }

    /// Gives back the hold of that number.
    public static func release(_ hold: UInt64) -> Request {
        var request = Request("release")
        request.add("hold", .integer(hold))
        return request
    }

    /// Asks to be asked before states are entered, while the connection lasts.
    ///
    /// - Parameters:
    ///   - before: patterns of the states.
    ///   - timeout: how long the daemon waits for a vote; rounded up to milliseconds.
    ///   - onTimeout: what silence counts as; nil leaves it to the daemon, whose default is a yes.
    ///   - why: the reason of a no that gives none; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func `guard`(
        before: [JSONValue],
        timeout: Duration? = nil,
        onTimeout: Silence? = nil,
        why: String? = nil
    ) -> Request {
        var request = Request("guard")
        request.add("before", before)
        request.add("timeoutMs", timeout.map { .integer($0.wholeMilliseconds) })
        request.add("onTimeout", onTimeout.map { .string($0.rawValue) })
        request.add("why", why.map { .string($0) })
        return request
    }

    /// Answers the question of that number.
    public static func vote(_ ask: UInt64, allow: Bool, why: String? = nil) -> Request {
        var request = Request("vote")
        request.add("ask", .integer(ask))
        request.add("allow", .bool(allow))
        request.add("why", why.map { .string($0) })
        return request
    }
}
