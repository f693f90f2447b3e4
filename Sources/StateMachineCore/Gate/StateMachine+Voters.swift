/// Asks voters before the state changes.
///
/// They are asked at the same time, each on its own context, when they have heard of all that led
/// to the current state. A voter may read and propose; if it sets the state past the gate, what it
/// votes on is stale.
extension StateMachine {
    /// Asks before the state changes; the answer is known at once.
    ///
    /// - Parameters:
    ///   - label: the voter's name when it says no.
    ///   - context: where it is asked.
    ///   - limit: how long to wait for it; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the limit is the voter's
    ///     own, and else what the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - vote: returns its vote; it must not block.
    /// - Returns: its registration; once that is cancelled, an open question no longer waits for
    ///   the voter.
    @discardableResult
    public func addVoter(
        label: String,
        on context: any ExecutionContext,
        within limit: Duration? = nil,
        whenSilent silence: Vote? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        _ vote: @escaping @Sendable (Proposal<State>) -> Vote
    ) -> Registration {
        self.addVoter(
            label: label,
            on: context,
            within: limit,
            whenSilent: silence,
            before: isAsked
        ) { proposal, reply in
            reply(vote(proposal))
        }
    }

    /// Asks before the state changes; the answer may come later, and from anywhere.
    ///
    /// - Parameters:
    ///   - label: the voter's name when it says no.
    ///   - context: where it is asked.
    ///   - limit: how long to wait for it; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the limit is the voter's
    ///     own, and else what the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - body: called with each question, once, and a closure that answers it; it must not block.
    ///     The first answer counts, and a question released without one abstains. If an answer
    ///     decides the question, the state has been assigned when the closure returns, unless a log
    ///     commits it first.
    /// - Returns: its registration; once that is cancelled, an open question no longer waits for
    ///   the voter.
    @discardableResult
    public func addVoter(
        label: String,
        on context: any ExecutionContext,
        within limit: Duration? = nil,
        whenSilent silence: Vote? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        _ body:
            @escaping @Sendable (Proposal<State>, _ reply: @escaping @Sendable (Vote) -> Void) ->
            Void
    ) -> Registration {
        self.machine.addVoter(
            Machine.Voter(
                label: label,
                deadline: limit.map { VoteDeadline(limit: $0, whenSilent: silence ?? .yes) },
                whenSilent: silence
            ),
            on: context,
            before: { isAsked(Proposal($0)) },
            { ask in body(Proposal(ask.motion)) { ask.vote($0) } }
        )
    }

    /// Asks an async function before the state changes; each question is a task of its own.
    ///
    /// A question may be decided without the answer, by another voter's no or because time is up:
    /// the function then still runs to its end, but its vote does not count.
    ///
    /// - Parameters:
    ///   - label: the voter's name when it says no.
    ///   - limit: how long to wait for it; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the limit is the voter's
    ///     own, and else what the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - vote: returns its vote.
    /// - Returns: its registration; once that is cancelled, an open question no longer waits for
    ///   the voter.
    @discardableResult
    public func addVoter(
        label: String,
        within limit: Duration? = nil,
        whenSilent silence: Vote? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        asking vote: @escaping @Sendable (Proposal<State>) async -> Vote
    ) -> Registration {
        self.addVoter(
            label: label,
            on: ReaderContext(of: self.machine),
            within: limit,
            whenSilent: silence,
            before: isAsked
        ) { proposal, reply in
            // Not kept: it ends with the question's answer.
            Task { reply(await vote(proposal)) }
        }
    }
}

extension Machine {
    /// Asks before the state changes, perhaps on behalf of a peer.
    ///
    /// - Parameters:
    ///   - terms: who votes, and for how long it is waited for.
    ///   - context: where it is asked.
    ///   - isAsked: pure, and run on the proposing thread; which motions it is asked about.
    ///   - body: called with each question, once; it must not block.
    /// - Returns: its registration.
    @discardableResult
    package func addVoter(
        _ terms: Machine.Voter,
        on context: any ExecutionContext,
        before isAsked: @escaping @Sendable (Motion) -> Bool = { _ in true },
        _ body: @escaping @Sendable (Ask) -> Void
    ) -> Registration {
        self.add(VoterMember(terms, isAsked: isAsked, body: body), on: context)
    }
}

/// What may happen next, as put to voters.
public struct Proposal<State: MachineState>: Equatable, Sendable {
    /// The same, as the engine has it.
    package let motion: Motion

    package init(_ motion: Motion) { self.motion = motion }

    /// Where the machine is; the voter has heard of all that led there.
    public var current: Snapshot<State> { Snapshot(self.motion.current) }
    /// The state that would be entered.
    public var proposed: State { TypedValue<State>.state(of: self.motion.proposed) }
    /// Why, in the words of whoever proposed it.
    public var cause: String? { self.motion.cause }
    /// Who proposed it from outside the process; nil for the process itself.
    public var by: Peer? { self.motion.by }

    /// Whether both are the same proposal at the same place.
    public static func == (left: Self, right: Self) -> Bool {
        left.current == right.current && left.motion.proposed.equals(right.motion.proposed)
            && left.cause == right.cause && left.by == right.by
    }
}

extension Proposal: Hashable where State: Hashable {
    /// Hashes what makes two of them equal.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.current)
        hasher.combine(self.proposed)
        hasher.combine(self.cause)
        hasher.combine(self.by)
    }
}
