/// Transitions to be prevented or postponed.
package struct HoldCall: RequestArguments {
    /// The states that are not to be entered.
    package var before = PatternList([])
    package var mode = Request.HoldMode.block
    /// How long a transition is postponed at most, in milliseconds; nil leaves it to the daemon.
    package var maxMs: UInt64?
    package var why: String?
    /// Its name if it belongs to its user and not to its connection.
    package var name: String?
    /// When it ends then, in milliseconds from now.
    package var untilMs: UInt64?

    static let arguments: RequestTable<Self> = [
        .init(.before, \.before, .patterns) { $0.before = $1 },
        .init(.mode, \.mode, .choice, unless: .block) { $0.mode = $1 },
        .init(.maxMs, \.maxMs, .count(atMost: RequestLimits.voteMs)) { $0.maxMs = $1 },
        .init(.why, \.why, .text) { $0.why = $1 },
        .init(.name, \.name, .name) { $0.name = $1 },
        .init(.untilMs, \.untilMs, .count(atMost: RequestLimits.untilMs)) { $0.untilMs = $1 },
    ]

    mutating func complete(_ operation: Operation) throws(WireError) {
        switch self.mode {
        case .block where self.maxMs != nil:
            throw WireError(.badRequest, "maxMs applies only to the mode \"delay\"")
        case .block: break
        case .delay: self.maxMs = self.maxMs ?? RequestLimits.defaultVoteMs
        }
        guard (self.name == nil) == (self.untilMs == nil) else {
            throw WireError(
                .badRequest,
                "hold needs \"as\" and \"untilMs\" together: a hold that outlives its connection needs an end"
            )
        }
    }
}

/// Transitions that the client wants to be asked about.
package struct GuardCall: RequestArguments {
    /// The states before which it is asked.
    package var before = PatternList([])
    /// How long to wait for it, in milliseconds; nil leaves that to the daemon.
    package var timeoutMs: UInt64?
    /// What its silence counts as; nil leaves it to the daemon.
    package var onTimeout: Request.Silence?
    package var why: String?
    /// Its name if it is required: while no guard of that name is connected, what it guards is
    /// denied.
    package var required: String?

    /// How long the daemon waits for it.
    package var deadlineMs: UInt64 { self.timeoutMs ?? RequestLimits.defaultVoteMs }

    package var allowsOnTimeout: Bool { self.onTimeout != .deny }

    static let arguments: RequestTable<Self> = [
        .init(.before, \.before, .patterns) { $0.before = $1 },
        .init(.timeoutMs, \.timeoutMs, .count(atMost: RequestLimits.voteMs)) { $0.timeoutMs = $1 },
        .init(.onTimeout, \.onTimeout, .choice) { $0.onTimeout = $1 },
        .init(.why, \.why, .text) { $0.why = $1 },
        .init(.required, \.required, .name) { $0.required = $1 },
    ]

    mutating func complete(_ operation: Operation) {
        self.timeoutMs = self.deadlineMs
        self.onTimeout = self.onTimeout ?? .allow
    }
}

/// A hold or a guard to be given back: the one with the one of these that is given.
package struct ReleaseCall: RequestArguments {
    /// Its number.
    package var number: UInt64?
    /// The name of a required guard, connected or not.
    package var required: String?
    /// The name of a hold.
    package var name: String?

    static let arguments: RequestTable<Self> = [
        .init(.hold, \.number, .count) { $0.number = $1 },
        .init(.required, \.required, .name) { $0.required = $1 },
        .init(.name, \.name, .name) { $0.name = $1 },
    ]

    func complete(_ operation: Operation) throws(WireError) {
        let given = self.written(for: operation).map(\.key.quoted)
        guard !given.isEmpty else { throw .lacks(.hold, of: operation) }
        guard given.count < 2 else {
            throw WireError(
                .badRequest,
                "release takes \(given.joined(separator: " or ")), not both"
            )
        }
    }
}

/// An answer to an `ask`.
package struct VoteCall: RequestArguments {
    package var ask: UInt64 = 0
    package var allow = true
    package var why: String?

    static let arguments: RequestTable<Self> = [
        .init(.ask, \.ask, .count) { $0.ask = $1 },
        .init(.allow, \.allow, .bool) { $0.allow = $1 },
        .init(.why, \.why, .text) { $0.why = $1 },
    ]
}

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
            maxMs: limit?.millisecondsRoundedUp,
            why: why,
            name: lasting?.name,
            untilMs: lasting?.time.millisecondsRoundedUp
        )
        return Request(.hold(call))
    }

    /// Releases the hold or the guard of that number.
    public static func release(_ number: UInt64) -> Request {
        Request(.release(ReleaseCall(number: number)))
    }

    /// Releases the hold of that name, which belongs to no connection.
    public static func release(named name: String) -> Request {
        Request(.release(ReleaseCall(name: name)))
    }

    /// Gives back the required guard of that name, connected or not.
    public static func release(required name: String) -> Request {
        Request(.release(ReleaseCall(required: name)))
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
            timeoutMs: timeout?.millisecondsRoundedUp,
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
