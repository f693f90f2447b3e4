import Synchronization

/// Where completions are called, those of a burst together.
package protocol CompletionPlace: AnyObject, Sendable {
    /// Runs `job` there after all that came before it: before this returns if the calling code is there.
    func run(_ job: @escaping @Sendable () -> Void)

    /// Calls `body`, and wakes the place once for all that has come meanwhile.
    func together(_ body: () -> Void)
}

/// A proposal that waits its turn.
final class PendingProposal<State: MachineState>: Sendable {
    let move: Move<State>
    /// How voters are asked; nil: nobody is.
    let question: Question?
    /// How long ago it was proposed; nil: that does not count.
    let waited: (@Sendable () -> Duration)?
    /// Told what becomes of it, once.
    let completion: @Sendable (Gate<State>.Answer) -> Void
    /// Where that is called; nil: where it was decided.
    let place: (any CompletionPlace)?
    /// Whether its proposer does not want it any more; set under the machine's lock.
    let isWithdrawn = Atomic<Bool>(false)

    init(
        _ move: Move<State>,
        asking question: Question?,
        waited: (@Sendable () -> Duration)? = nil,
        place: (any CompletionPlace)? = nil,
        completion: @escaping @Sendable (Gate<State>.Answer) -> Void
    ) {
        self.move = move
        self.question = question
        self.waited = waited
        self.place = place
        self.completion = completion
    }
}

/// A proposal and what becomes of it: what is answered if the log commits the group that it is in, and
/// then what is answered under no lock.
///
/// It keeps all of the proposal until then, so that what its closures hold is let go under no lock
/// either.
struct JudgedProposal<State: MachineState>: Sendable {
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
    func complete() {
        switch self.fate {
        case .entering(let entry):
            self.pending.completion(.success(.committed(entry.transition)))
        case .answered(let answer): self.pending.completion(answer)
        }
    }
}
