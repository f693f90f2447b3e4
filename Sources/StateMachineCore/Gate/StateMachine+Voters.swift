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
        self.addVoter(
            VoterMember.Terms(
                label: label,
                deadline: limit.map { VoteDeadline(limit: $0, whenSilent: silence ?? .yes) },
                whenSilent: silence
            ),
            on: context,
            before: isAsked
        ) { ask in
            body(ask.proposal) { ask.vote($0) }
        }
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
            on: ReaderContext(of: self),
            within: limit,
            whenSilent: silence,
            before: isAsked
        ) { proposal, reply in
            // Not kept: it ends with the question's answer.
            Task { reply(await vote(proposal)) }
        }
    }

    /// Asks before the state changes, perhaps on behalf of a peer.
    ///
    /// - Parameters:
    ///   - label: the voter's name when it says no.
    ///   - peer: on whose behalf it votes, if not the process itself.
    ///   - context: where it is asked.
    ///   - deadline: how long to wait for it; nil: as long as the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - body: called with each question, once; it must not block.
    /// - Returns: its registration.
    @discardableResult
    package func addVoter(
        label: String,
        peer: Peer? = nil,
        on context: any ExecutionContext,
        deadline: VoteDeadline? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        _ body: @escaping @Sendable (Ask<State>) -> Void
    ) -> Registration {
        self.addVoter(
            VoterMember.Terms(label: label, peer: peer, deadline: deadline),
            on: context,
            before: isAsked,
            body
        )
    }

    private func addVoter(
        _ terms: VoterMember<State>.Terms,
        on context: any ExecutionContext,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool,
        _ body: @escaping @Sendable (Ask<State>) -> Void
    ) -> Registration {
        let member = VoterMember(terms, isAsked: isAsked, body: body)
        return self.add(member, on: context)
    }
}
