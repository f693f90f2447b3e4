import Synchronization

extension Machine {
    /// What is asked for in its turn: kept until it is answered, since it may be decided again.
    package final class Proposal: Sendable {
        let move: Move
        /// How voters are asked; nil: nobody is.
        let question: Question?
        /// How long ago it was proposed; nil: that does not count.
        let waited: (@Sendable () -> Duration)?
        /// Where it is answered, after all changes up to then; nil: where it is decided.
        let cursor: Drain?
        /// Whether it is refused if there is no room, and takes room.
        let isLimited: Bool
        /// Called with what became of it, once; at a cursor only while that may be called.
        let completion: @Sendable (Move.Answer) -> Void
        /// Whether its proposer no longer wants it; set under the machine's lock.
        let isWithdrawn = Atomic<Bool>(false)

        init(
            _ move: Move,
            asking question: Question?,
            waited: (@Sendable () -> Duration)? = nil,
            at cursor: Drain? = nil,
            isLimited: Bool = true,
            completion: @escaping @Sendable (Move.Answer) -> Void
        ) {
            self.move = move
            self.question = question
            self.waited = waited
            self.cursor = cursor
            self.isLimited = isLimited
            self.completion = completion
        }

        var isStillWanted: Bool { !self.isWithdrawn.load(ordering: .sequentiallyConsistent) }

        /// Whether it is decided before all others.
        var isRecast: Bool { if case .recast = self.move.target { true } else { false } }
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
        /// The state is replaced by one that looks the same, as it is at that place.
        indirect case replacing(Place)
        /// It is refused or changes nothing, and the answer waits for what came before. Indirect,
        /// to keep the common case small.
        indirect case answered(Gate.Answer)
    }

    let proposal: Machine.Proposal
    let fate: Fate

    init(_ proposal: Machine.Proposal, _ fate: Fate) {
        self.proposal = proposal
        self.fate = fate
    }

    /// The transition that is to happen, if one is.
    var entry: ChangeEntry? {
        switch self.fate {
        case .entering(let entry): entry
        case .replacing, .answered: nil
        }
    }

    /// Whether it only asks for what the transitions after `first`, up to `last`, would have led
    /// to.
    func repeats(after first: UInt64, through last: UInt64) -> Bool {
        guard case .answered(.success(.unchanged(let base, _))) = self.fate else { return false }
        return base.seq > first && base.seq <= last
    }

    /// Tells the proposer; under no lock.
    func complete() {
        switch self.fate {
        case .entering(let entry): self.proposal.completion(.success(.committed(entry.change)))
        case .replacing(let place): self.proposal.completion(.success(.unchanged(place, .same)))
        case .answered(let answer): self.proposal.completion(answer)
        }
    }
}
