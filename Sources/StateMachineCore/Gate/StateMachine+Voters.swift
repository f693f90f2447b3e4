/// Somebody who is asked before the state changes, and knows the answer at once.
public protocol StateVoter<State>: AnyObject, Sendable {
    /// The state that it guards.
    associatedtype State: MachineState

    /// Called on the voter's context, when it has heard of all that led to the current state.
    ///
    /// It may read and propose. If it sets the state past the gate, what it votes on is stale.
    func vote(on proposal: Proposal<State>) -> Vote
}

extension StateMachine {
    /// Asks `voter` before the state changes.
    ///
    /// Voters are asked at the same time, each on its own context. One that goes while it is asked
    /// abstains, and one that is gone is asked no more.
    ///
    /// - Parameters:
    ///   - voter: who is asked; held weakly.
    ///   - label: what it is called when it says no.
    ///   - context: where it is asked.
    ///   - deadline: how long it is waited for; nil: as long as the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    /// - Returns: its place; cancelling it ends the asking.
    @discardableResult
    public func addVoter(
        _ voter: some StateVoter<State>,
        label: String,
        on context: any ExecutionContext,
        deadline: VoteDeadline? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true }
    ) -> Registration {
        let member = VoterMember<State>(
            VoterMember.Terms(label: label, deadline: deadline),
            of: voter,
            isAsked: isAsked
        ) { [weak voter] ask in
            if let voter { ask.vote(voter.vote(on: ask.proposal)) }
        }
        _ = self.register(member, on: context)
        return self.registration(of: member)
    }

    /// Asks before the state changes; the answer may come later, and from anywhere.
    ///
    /// Cancelling the registration releases a question that is open: the voter is waited for no
    /// longer. An ``Ask`` that is let go of unanswered abstains.
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
    public func addVoter(
        label: String,
        peer: Peer? = nil,
        on context: any ExecutionContext,
        deadline: VoteDeadline? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        _ body: @escaping @Sendable (Ask<State>) -> Void
    ) -> Registration {
        let member = VoterMember(
            VoterMember.Terms(label: label, peer: peer, deadline: deadline),
            isAsked: isAsked,
            body: body
        )
        _ = self.register(member, on: context)
        return self.registration(of: member)
    }

    /// Asks an async function before the state changes; each question is a task of its own.
    ///
    /// As ``addVoter(label:peer:on:deadline:before:_:)``. A question that is decided without the answer, by another
    /// voter's no or past the deadline, leaves the function to its end; its vote does not count then.
    ///
    /// - Parameters:
    ///   - label: what the voter is called when it says no.
    ///   - deadline: how long it is waited for; nil: as long as the question says.
    ///   - isAsked: pure, and run on the proposing thread; which proposals it is asked about.
    ///   - vote: what it says.
    /// - Returns: its place.
    @discardableResult
    public func addVoter(
        label: String,
        deadline: VoteDeadline? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        asking vote: @escaping @Sendable (Proposal<State>) async -> Vote
    ) -> Registration {
        self.addVoter(
            label: label,
            on: ReaderContext(of: self),
            deadline: deadline,
            before: isAsked
        ) { ask in
            // Not kept: it ends with the question's answer.
            Task { ask.vote(await vote(ask.proposal)) }
        }
    }
}
