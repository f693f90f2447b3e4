package import StateMachineCore

/// What a request for a hold or a guard asks for.
package struct VoterRequest: Sendable {
    /// The states whose proposals it votes on.
    package let before: PatternList
    package let why: String?
    package let terms: VoterTerms
    /// The name that a guard is required as.
    package let required: String?

    package init(_ call: HoldCall) {
        self.before = call.before
        self.why = call.why
        self.required = nil
        switch call.mode {
        case .block: self.terms = .block
        case .delay: self.terms = .delay(maxMs: call.maxMs ?? RequestLimits.defaultVoteMs)
        }
    }

    package init(_ call: GuardCall) {
        self.before = call.before
        self.why = call.why
        self.required = call.required
        self.terms = .ask(timeoutMs: call.deadlineMs, allowsOnTimeout: call.allowsOnTimeout)
    }

    /// Nil if the request asks for something else.
    package init?(_ call: Request.Call) {
        switch call {
        case .hold(let call): self.init(call)
        case .guard(let call): self.init(call)
        default: return nil
        }
    }

    /// A request that was kept, as the states are declared now; nil if it can no longer be read.
    package init?(again line: [UInt8], in schema: Schema) {
        guard let request = Request(again: line) else { return nil }
        self.init(schema.resolvedAgain(request.call))
    }

    /// A hold on all states.
    package init(denyingAllOf schema: Schema) {
        self.before = PatternList(schema.names.map { Pattern(typed: $0) })
        self.why = nil
        self.required = nil
        self.terms = .block
    }
}

/// What a hold or a guard does about a proposal of a state that it covers.
package enum VoterTerms: Sendable {
    /// A hold denies it.
    case block
    /// A hold makes it wait.
    case delay(maxMs: UInt64)
    /// A guard is asked.
    case ask(timeoutMs: UInt64, allowsOnTimeout: Bool)
    /// A required guard, not connected since then, denies it.
    case missing(since: WallTime)

    /// Whether it is denied at once.
    package var isBlocking: Bool {
        switch self {
        case .block, .missing: true
        case .delay, .ask: false
        }
    }

    /// Whether it is a hold, and not a guard.
    package var isHold: Bool {
        switch self {
        case .block, .delay: true
        case .ask, .missing: false
        }
    }

    /// The reason of the no that its silence counts as; nil if it counts as a yes.
    package var silence: String? {
        switch self {
        case .ask(_, allowsOnTimeout: false): "timeout"
        case .ask, .block, .delay, .missing: nil
        }
    }

    /// How long the machine waits for one whose client is away: a guard's question waits for the
    /// client, unless it is only told.
    package var deadlineWhenAway: VoteDeadline {
        switch self {
        case .ask(let timeoutMs, _) where timeoutMs > 0:
            VoteDeadline(limit: nil, whenSilent: .yes)
        case .ask, .block, .delay, .missing: self.deadline()
        }
    }

    /// How long the machine waits for a vote, and what silence counts as then.
    ///
    /// - Parameter succeeds: whether it takes the place of one whose client was away, and whose question has waited for
    ///   that: then it has all its time.
    /// - Returns: that.
    package func deadline(succeeding succeeds: Bool = false) -> VoteDeadline {
        switch self {
        case .block, .missing: VoteDeadline(limit: nil, whenSilent: .yes)
        case .delay(let maxMs):
            VoteDeadline(limit: .milliseconds(maxMs), whenSilent: .yes, from: .proposal)
        case .ask(let timeoutMs, _):
            VoteDeadline(
                limit: .milliseconds(timeoutMs),
                whenSilent: self.silence.map { .no($0) } ?? .yes,
                from: succeeds ? .asking : .question
            )
        }
    }

    /// What the voter of that number is, to the machine too.
    package func claim(_ number: UInt64) -> Vote.Claim {
        self.isHold ? .hold(number) : .guard(number)
    }
}

extension Request {
    /// A request that was valid before; nil if it no longer is.
    package init?(again line: some Sequence<UInt8>) {
        do {
            guard let request = try Request.parse(Array(line)) else { return nil }
            self = request
        } catch {
            return nil
        }
    }
}
