/// The code of a machine that runs where nobody spells its type, made for that type all the same.
///
/// Generic code asks the runtime for the layout of every value at every step, which is most of what a commit costs
/// otherwise. What a program calls on a machine whose type it has written out is inlinable, so that the compiler makes it
/// for the type. Nobody writes the type out where a context drains a lane, or where a server decides for a client: what they
/// call is kept here, and is made where the machine is, in the module that knows the type.
///
/// What asks voters, recasts or withdraws goes on in generic code.
@usableFromInline
package struct MachineCode<State: MachineState>: Sendable {
    /// ``Lane/deliverHere(atMost:)``.
    @usableFromInline let deliver: @Sendable (Lane<State>, _ limit: Int) -> Int
    /// ``StateMachine/decideHere(_:)``.
    @usableFromInline let decide:
        @Sendable (StateMachine<State>, Move<State>) -> MoveOutcome<State>?

    /// ``StateMachine/enterAtOnce(_:ifSeq:reenter:cause:by:)``, of which nothing is generic but the state: who calls it has
    /// no layout to ask for.
    @usableFromInline let enter:
        @Sendable (StateMachine<State>, State, UInt64?, Bool, String?, CompactPeer) ->
            TransitionMark?
    /// ``StateMachine/proposeHere(_:if:_:completion:)`` of a state.
    @usableFromInline let propose:
        @Sendable (
            StateMachine<State>, State, @escaping @Sendable (Snapshot<State>) -> Bool,
            ProposalTerms,
            @escaping @Sendable (MoveOutcome<State>) -> Void
        ) -> Void
    /// The same of what is made at its turn.
    @usableFromInline let proposeMade:
        @Sendable (
            StateMachine<State>, @escaping @Sendable (Snapshot<State>) -> State?,
            @escaping @Sendable (Snapshot<State>) -> Bool, ProposalTerms,
            @escaping @Sendable (MoveOutcome<State>) -> Void
        ) -> Void
    /// ``StateMachine/enqueueHere(_:isLimited:)``.
    @usableFromInline let enqueue:
        @Sendable (StateMachine<State>, PendingProposal<State>, _ isLimited: Bool) -> Void
    /// ``StateMachine/holdGroupsHere()``.
    @usableFromInline let hold: @Sendable (StateMachine<State>) -> Bool
    /// ``StateMachine/releaseGroupsHere()``.
    @usableFromInline let release: @Sendable (StateMachine<State>) -> Void

    /// The code for the type that is written out where this is called; generic code if none is.
    @inlinable
    package init() {
        self.deliver = { lane, limit in lane.deliverHere(atMost: limit) }
        self.decide = { machine, move in machine.decideHere(move) }
        self.enter = { machine, new, seq, reenter, cause, peer in
            machine.decided(
                Move(to: new, if: .init(seq: seq), reenter: reenter, cause: cause, by: peer),
                under: nil,
                committed: { _, _, _, mark in mark },
                unchanged: { _ in nil },
                refused: { _ in nil }
            ) ?? nil
        }
        self.propose = { machine, new, isExpected, terms, completion in
            machine.proposeHere(.state(new), if: isExpected, terms, completion: completion)
        }
        self.proposeMade = { machine, make, isExpected, terms, completion in
            machine.proposeHere(.made(make), if: isExpected, terms, completion: completion)
        }
        self.enqueue = { machine, pending, isLimited in
            machine.enqueueHere(pending, isLimited: isLimited)
        }
        self.hold = { $0.holdGroupsHere() }
        self.release = { $0.releaseGroupsHere() }
    }
}
