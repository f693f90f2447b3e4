import Synchronization

/// Where completions are called, those of a burst together.
package protocol CompletionPlace: AnyObject, Sendable {
    /// Runs `job` there after all that came before it; if the calling code is there, before this
    /// returns.
    func run(_ job: @escaping @Sendable () -> Void)

    /// Calls `body`, and wakes the place once for everything that came meanwhile.
    func together(_ body: () -> Void)
}

/// A proposal that waits its turn.
package final class PendingProposal: Sendable {
    let move: Move
    /// How voters are asked; nil: nobody is.
    let question: Question?
    /// How long ago it was proposed; nil: that does not count.
    let waited: (@Sendable () -> Duration)?
    /// Called with what becomes of it, once.
    let completion: @Sendable (Move.Answer) -> Void
    /// Where the completion is called; nil: where it was decided.
    let place: (any CompletionPlace)?
    /// Whether its proposer no longer wants it; set under the machine's lock.
    let isWithdrawn = Atomic<Bool>(false)

    var isStillWanted: Bool { !self.isWithdrawn.load(ordering: .sequentiallyConsistent) }

    init(
        _ move: Move,
        asking question: Question?,
        waited: (@Sendable () -> Duration)? = nil,
        place: (any CompletionPlace)? = nil,
        completion: @escaping @Sendable (Move.Answer) -> Void
    ) {
        self.move = move
        self.question = question
        self.waited = waited
        self.place = place
        self.completion = completion
    }

    /// How voters are to be asked; nil: nobody is, as for an update, which only changes what the
    /// state carries.
    var questionToPut: Question? { self.move.kind == .update ? nil : self.question }

    /// Tells the proposer what became of it; under no lock.
    func complete(_ fate: EvaluatedProposal.Fate) {
        switch fate {
        case .entering(let entry): self.completion(.success(.committed(entry.change)))
        case .answered(let answer): self.completion(answer)
        }
    }
}

/// A proposal and what becomes of it: the transition to enter if the log commits its group, or the
/// answer to give under no lock.
///
/// It keeps the whole proposal until then, so that what its closures hold is released under no lock
/// either.
struct EvaluatedProposal: Sendable {
    enum Fate: Sendable {
        case entering(ChangeEntry)
        /// It is refused or changes nothing, and the answer waits for what came before. Indirect,
        /// to keep the common case small.
        indirect case answered(Gate.Answer)
    }

    let pending: PendingProposal
    let fate: Fate

    init(_ pending: PendingProposal, _ fate: Fate) {
        self.pending = pending
        self.fate = fate
    }

    /// The transition that is to happen, if one is.
    var entry: ChangeEntry? {
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
    func complete() { self.pending.complete(self.fate) }
}
