public import Synchronization

/// Where completions are called, those of a burst together.
@usableFromInline
package protocol CompletionPlace: AnyObject, Sendable {
    /// Runs `job` there after all that came before it; if the calling code is there, before this
    /// returns.
    func run(_ job: @escaping @Sendable () -> Void)

    /// Calls `body`, and wakes the place once for everything that came meanwhile.
    func together(_ body: () -> Void)
}

/// The terms of a proposal besides the state, and where its completion is called.
@usableFromInline
package struct ProposalTerms: Sendable {
    @usableFromInline let kind: MoveKind
    @usableFromInline let cause: String?
    @usableFromInline let setter: CompactPeer?
    @usableFromInline let isTimed: Bool
    @usableFromInline let place: any CompletionPlace

    /// - Parameters:
    ///   - kind: what it does to a state that is as expected.
    ///   - cause: why, carried by the transition.
    ///   - setter: who sets, if not the process itself.
    ///   - isTimed: whether the time until voters are asked counts towards their deadline; needless
    ///     where there are none.
    ///   - place: where the completion is called.
    package init(
        _ kind: MoveKind,
        cause: String?,
        by setter: CompactPeer?,
        isTimed: Bool,
        in place: any CompletionPlace
    ) {
        self.kind = kind
        self.cause = cause
        self.setter = setter
        self.isTimed = isTimed
        self.place = place
    }
}

/// A proposal that waits its turn.
@usableFromInline
final class PendingProposal<State: MachineState>: Sendable {
    @usableFromInline let move: Move<State>
    /// How voters are asked; nil: nobody is.
    @usableFromInline let question: Question?
    /// How long ago it was proposed; nil: that does not count.
    @usableFromInline let waited: (@Sendable () -> Duration)?
    /// Called with what becomes of it, once.
    @usableFromInline let completion: Completion
    /// Where the completion is called; nil: where it was decided.
    @usableFromInline let place: (any CompletionPlace)?
    /// Whether its proposer no longer wants it; set under the machine's lock.
    @usableFromInline let isWithdrawn = Atomic<Bool>(false)

    @usableFromInline
    enum Completion: Sendable {
        /// With the whole transition.
        case answer(@Sendable (Gate<State>.Answer) -> Void)
        /// With everything but the states.
        case outcome(@Sendable (MoveOutcome<State>) -> Void)
    }

    @inlinable
    init(
        _ move: Move<State>,
        asking question: Question?,
        waited: (@Sendable () -> Duration)? = nil,
        place: (any CompletionPlace)? = nil,
        completion: Completion
    ) {
        self.move = move
        self.question = question
        self.waited = waited
        self.place = place
        self.completion = completion
    }

    /// How voters are to be asked; nil: nobody is, as for an update, which only changes what the
    /// state carries.
    @inlinable var questionToPut: Question? { self.move.kind == .update ? nil : self.question }

    /// Tells the proposer what became of it; under no lock.
    @inlinable
    func complete(_ fate: EvaluatedProposal<State>.Fate) {
        switch (fate, self.completion) {
        case (.entering(let entry), .answer(let tell)): tell(.success(.committed(entry.transition)))
        case (.entering(let entry), .outcome(let tell)): tell(.committed(entry.mark))
        case (.answered(let answer), .answer(let tell)): tell(answer)
        case (.answered(let answer), .outcome(let tell)): tell(MoveOutcome(answer))
        }
    }
}

/// A proposal and what becomes of it: the transition to enter if the log commits its group, or the
/// answer to give under no lock.
///
/// It keeps the whole proposal until then, so that what its closures hold is released under no lock
/// either.
@usableFromInline
struct EvaluatedProposal<State: MachineState>: Sendable {
    @usableFromInline
    enum Fate: Sendable {
        case entering(TransitionEntry<State>)
        /// It is refused or changes nothing, and the answer waits for what came before. Indirect,
        /// to keep the common case small.
        indirect case answered(Gate<State>.Answer)
    }

    @usableFromInline let pending: PendingProposal<State>
    @usableFromInline let fate: Fate

    @inlinable
    init(_ pending: PendingProposal<State>, _ fate: Fate) {
        self.pending = pending
        self.fate = fate
    }

    /// The transition that is to happen, if one is.
    @inlinable var entry: TransitionEntry<State>? {
        switch self.fate {
        case .entering(let entry): entry
        case .answered: nil
        }
    }

    /// Whether it only asks for what the transitions after `first`, up to `last`, would have led
    /// to.
    func repeats(after first: UInt64, through last: UInt64) -> Bool {
        guard case .answered(.success(.unchanged(let base))) = self.fate else { return false }
        return base.seq > first && base.seq <= last
    }

    /// Tells the proposer; under no lock.
    @inlinable
    func complete() { self.pending.complete(self.fate) }
}
