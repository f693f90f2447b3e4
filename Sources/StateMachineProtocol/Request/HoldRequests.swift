// Preventing changes, and deciding about them.
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

    /// Requests that states not be entered while the connection lasts.
    ///
    /// - Parameters:
    ///   - before: the states.
    ///   - mode: what happens to a set.
    ///   - limit: how long a set is delayed at most, rounded up to milliseconds; only for
    ///     ``HoldMode/delay``; nil leaves that to the daemon.
    ///   - why: shown to whoever is refused; at most 256 bytes of UTF-8.
    ///   - lasting: its name, and how long it lasts from now, if it belongs to the user and not to
    ///     the connection.
    /// - Returns: the request.
    public static func hold(
        before: [Pattern],
        mode: HoldMode = .block,
        limit: Duration? = nil,
        why: String? = nil,
        lasting: (name: String, time: Duration)? = nil
    ) -> Request {
        let call = HoldCall(
            before: PatternList(before),
            mode: mode,
            maxMs: limit?.wholeMilliseconds,
            why: why,
            name: lasting?.name,
            untilMs: lasting?.time.wholeMilliseconds
        )
        return Request(.hold(call))
    }

    /// Releases the hold or the guard of that number.
    public static func release(_ number: UInt64) -> Request {
        Request(.release(.number(number)))
    }

    /// Releases the hold of that name, which belongs to no connection.
    public static func release(named name: String) -> Request { Request(.release(.named(name))) }

    /// Gives back the required guard of that name, connected or not.
    public static func release(required name: String) -> Request {
        Request(.release(.required(name)))
    }

    /// Requests to be asked before states are entered, while the connection lasts.
    ///
    /// - Parameters:
    ///   - before: the states.
    ///   - timeout: how long the daemon waits for a vote, rounded up to milliseconds; nil leaves
    ///     that to the daemon.
    ///   - onTimeout: what silence counts as; nil leaves that to the daemon, whose default is a
    ///     yes.
    ///   - why: the reason for a no that gives none; at most 256 bytes of UTF-8.
    ///   - name: the guard's name if it is required: then the states are denied while no guard of
    ///     that name is connected, until it is released; nil if its absence allows.
    /// - Returns: the request.
    public static func `guard`(
        before: [Pattern],
        timeout: Duration? = nil,
        onTimeout: Silence? = nil,
        why: String? = nil,
        required name: String? = nil
    ) -> Request {
        let call = GuardCall(
            before: PatternList(before),
            timeoutMs: timeout?.wholeMilliseconds,
            onTimeout: onTimeout,
            why: why,
            required: name
        )
        return Request(.guard(call))
    }

    /// Answers the question of that number.
    public static func vote(_ ask: UInt64, allow: Bool, why: String? = nil) -> Request {
        Request(.vote(VoteCall(ask: ask, allow: allow, why: why)))
    }
}
