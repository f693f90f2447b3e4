import Synchronization

/// Where completions are called, those of a burst together.
package protocol CompletionPlace: AnyObject, Sendable {
    /// Runs `job` there after all that came before it: before this returns if the calling code is there.
    func run(_ job: @escaping @Sendable () -> Void)

    /// Calls `body`, and wakes the place once for all that has come meanwhile.
    func together(_ body: () -> Void)
}

/// A proposal that waits its turn.
@usableFromInline
final class PendingProposal<State: MachineState>: Sendable {
    let move: Move<State>
    /// How voters are asked; nil: nobody is.
    let question: Question?
    /// How long ago it was proposed; nil: that does not count.
    let waited: (@Sendable () -> Duration)?
    /// Told what becomes of it, once.
    private let completion: Completion
    /// Where that is called; nil: where it was decided.
    let place: (any CompletionPlace)?
    /// Whether its proposer does not want it any more; set under the machine's lock.
    let isWithdrawn = Atomic<Bool>(false)

    enum Completion: Sendable {
        /// By all of the transition.
        case answer(@Sendable (Gate<State>.Answer) -> Void)
        /// By what there is to know of it beside the states.
        case outcome(@Sendable (MoveOutcome<State>) -> Void)
    }

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

    /// Tells the proposer what became of it; under no lock.
    fileprivate func complete(_ fate: EvaluatedProposal<State>.Fate) {
        switch (fate, self.completion) {
        case (.entering(let entry), .answer(let tell)): tell(.success(.committed(entry.transition)))
        case (.entering(let entry), .outcome(let tell)): tell(.committed(entry.mark))
        case (.answered(let answer), .answer(let tell)): tell(answer)
        case (.answered(let answer), .outcome(let tell)): tell(MoveOutcome(answer))
        }
    }
}

/// A proposal and what becomes of it: what is answered if the log commits the group that it is in, and
/// then what is answered under no lock.
///
/// It keeps all of the proposal until then, so that what its closures hold is let go under no lock
/// either.
struct EvaluatedProposal<State: MachineState>: Sendable {
    enum Fate: Sendable {
        case entering(TransitionEntry<State>)
        /// It is refused or changes nothing, and the answer waits for what came before. Indirect, to
        /// keep what is common small.
        indirect case answered(Gate<State>.Answer)
    }

    let pending: PendingProposal<State>
    let fate: Fate

    init(_ pending: PendingProposal<State>, _ fate: Fate) {
        self.pending = pending
        self.fate = fate
    }

    /// The transition that is to happen, if one is.
    var entry: TransitionEntry<State>? {
        switch self.fate {
        case .entering(let entry): entry
        case .answered: nil
        }
    }

    /// Whether it asks for nothing but what the transitions after one, up to another, would have led
    /// to.
    func repeats(after first: UInt64, through last: UInt64) -> Bool {
        guard case .answered(.success(.unchanged(let base))) = self.fate else { return false }
        return base.seq > first && base.seq <= last
    }

    /// Tells the proposer; under no lock.
    func complete() { self.pending.complete(self.fate) }
}
