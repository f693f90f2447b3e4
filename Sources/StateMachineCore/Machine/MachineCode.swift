/// The code of a machine, specialized for its type, for callers that do not know the type.
///
/// Generic code asks the runtime for the layout of every value at every step, which would be most
/// of the cost of a commit. What a program calls on a machine of a known type is inlinable, so that
/// the compiler specializes it. The type is not known where a context drains a lane, or where a
/// server decides for a client: what they call is kept here, and is specialized where the machine
/// is created, in the module that knows the type.
///
/// Asking voters, recasting and withdrawing stay generic.
@usableFromInline
package struct MachineCode<State: MachineState>: Sendable {
    /// ``Lane/deliverHere(atMost:)``.
    @usableFromInline let deliver: @Sendable (Lane<State>, _ limit: Int) -> Int
    /// ``StateMachine/decideHere(_:)``.
    @usableFromInline let decide:
        @Sendable (StateMachine<State>, Move<State>) -> MoveOutcome<State>?

    /// ``StateMachine/enterAtOnce(_:ifSeq:reenter:cause:by:)``, in which only the state is generic:
    /// its caller needs no other layout.
    @usableFromInline let enter:
        @Sendable (StateMachine<State>, State, UInt64?, Bool, String?, CompactPeer) ->
            TransitionMark?
    /// ``StateMachine/proposeHere(_:if:_:completion:)`` for a state.
    @usableFromInline let propose:
        @Sendable (
            StateMachine<State>, State, @escaping @Sendable (Snapshot<State>) -> Bool,
            ProposalTerms,
            @escaping @Sendable (MoveOutcome<State>) -> Void
        ) -> Void
    /// The same for a state that is made at its turn.
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

    /// The code for the type known at the call site; generic code if it is not known.
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
