/// Who is asked before the state changes.
///
/// Voters are asked at the same time, each on its own context, when they have heard of all that led to the current
/// state. One may read and propose; if it sets the state past the gate, what it votes on is stale.
extension StateMachine {
    /// Asks before the state changes; the answer is known at once.
    ///
    /// - Parameters:
    ///   - label: what the voter is called when it says no.
    ///   - context: where it is asked.
    ///   - limit: how long it is waited for; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the time is its own, and else what the question
    ///     says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - vote: what it says; it may not block.
    /// - Returns: its place; a question that is open then waits for it no longer.
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
    ///   - label: what the voter is called when it says no.
    ///   - context: where it is asked.
    ///   - limit: how long it is waited for; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the time is its own, and else what the question
    ///     says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - body: given each question, once, and what answers it; it may not block. The first answer counts, and what is let
    ///     go of without one abstains. If an answer decides the question, the state has been assigned when that returns,
    ///     unless a log commits it first.
    /// - Returns: its place; a question that is open then waits for it no longer.
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
    /// A question that is decided without the answer, by another voter's no or because time is up, leaves the function to
    /// its end; its vote does not count then.
    ///
    /// - Parameters:
    ///   - label: what the voter is called when it says no.
    ///   - limit: how long it is waited for; nil: as long as the question says.
    ///   - silence: what no answer in that time counts as; nil: consent if the time is its own, and else what the question
    ///     says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - vote: what it says.
    /// - Returns: its place; a question that is open then waits for it no longer.
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
    ///   - label: what the voter is called when it says no.
    ///   - peer: on whose behalf it votes, if not the process itself.
    ///   - context: where it is asked.
    ///   - deadline: how long it is waited for; nil: as long as the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - body: given each question, once; it may not block.
    /// - Returns: its place.
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
