import Synchronization

extension Machine {
    /// What is asked for in its turn: kept until it is answered, since it may be decided again.
    ///
    /// A proposer's own kind is also what the proposer keeps of it: for that it is open, to the package alone, as the
    /// machine is. `@unchecked Sendable`: `isWithdrawn` is atomic, and nothing else changes.
    open class Proposal: @unchecked Sendable {
        let demand: Demand
        /// How voters are asked; nil: nobody is.
        let question: Question?
        /// How long ago it was proposed; nil: that does not count.
        let waited: (@Sendable () -> Duration)?
        /// Where it is answered, after all changes up to then; nil: where it is decided.
        let cursor: Drain?
        /// Whether it is refused if there is no room, and takes room.
        let isLimited: Bool
        private let completion: (@Sendable (Move.Answer) -> Void)?
        /// Whether its proposer no longer wants it; set under the machine's lock.
        let isWithdrawn = Atomic<Bool>(false)

        /// What is asked for.
        package enum Demand: Sendable {
            case move(Move)
            /// What is in force already is recorded with the next group; it waits for nobody's turn.
            case record([Record])
        }

        package init(
            _ demand: Demand,
            asking question: Question?,
            waited: (@Sendable () -> Duration)? = nil,
            at cursor: Drain? = nil,
            isLimited: Bool = true,
            completion: (@Sendable (Move.Answer) -> Void)? = nil
        ) {
            self.demand = demand
            self.question = question
            self.waited = waited
            self.cursor = cursor
            self.isLimited = isLimited
            self.completion = completion
        }

        /// Told what became of it, once; at a cursor only while that may be called.
        ///
        /// A kind of its own needs no completion.
        open func decided(_ answer: Move.Answer) { self.completion?(answer) }

        /// What is recorded with what it makes, if it makes anything.
        open var companion: Record? { nil }

        /// The move, if that is asked for.
        var move: Move? { if case .move(let move) = self.demand { move } else { nil } }

        var isStillWanted: Bool { !self.isWithdrawn.load(ordering: .sequentiallyConsistent) }

        /// Whether it is decided before all others.
        var isRecast: Bool {
            guard case .move(let move) = self.demand, case .recast = move.target else {
                return false
            }
            return true
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
        /// The state is replaced by one that looks the same, as it is at that place.
        indirect case replacing(Place)
        /// The deadline of the stay begins anew, and that place is where the machine is then.
        indirect case renewing(Place, Renewal)
        /// A time of the stay has passed, and that place is where the machine is then; its state looks the same.
        indirect case passing(Place)
        /// It is in force, and is recorded.
        indirect case recording([Record], at: Place)
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

    /// What is to be recorded, at that place.
    init(recording proposal: Machine.Proposal, at place: Place) {
        guard case .record(let records) = proposal.demand else {
            preconditionFailure("a move is evaluated, and not recorded as it is")
        }
        self.init(proposal, .recording(records, at: place))
    }

    /// The transition that is to happen, if one is.
    var entry: ChangeEntry? {
        switch self.fate {
        case .entering(let entry): entry
        case .replacing, .renewing, .passing, .recording, .answered: nil
        }
    }

    /// Where the machine is to be, if it is to be elsewhere.
    var place: Place? {
        switch self.fate {
        case .entering(let entry): entry.change.place
        case .renewing(let place, _), .passing(let place): place
        case .replacing, .recording, .answered: nil
        }
    }

    /// Adds what the log is to commit for it.
    func add(to records: inout [Record]) {
        switch self.fate {
        case .entering(let entry): records.append(.change(entry.change))
        case .renewing(let place, let renewal):
            records += [.stay(renewal.start), .times(place.value)]
        case .passing(let place): records.append(.times(place.value))
        case .recording(let all, _):
            records += all
            return
        case .replacing, .answered: return
        }
        if let companion = self.proposal.companion { records.append(companion) }
    }

    /// Whether it fails if the log does not commit it.
    var isForLog: Bool {
        switch self.fate {
        case .entering, .renewing, .passing, .recording: true
        case .replacing, .answered: false
        }
    }

    /// Whether it is an answer that says how it is with the machine; that something was withdrawn does not.
    var saysWhatIs: Bool {
        switch self.fate {
        case .answered(.success): true
        case .answered(.failure(let refused)):
            if case .withdrawn = refused.reason { false } else { true }
        case .entering, .replacing, .renewing, .passing, .recording: false
        }
    }

    /// Whether it is a record of what is in force, which no question waits for.
    var isRecord: Bool { if case .recording = self.fate { true } else { false } }

    /// Whether it only asks for what the transitions after `first`, up to `last`, would have led
    /// to.
    func repeats(after first: UInt64, through last: UInt64) -> Bool {
        guard case .answered(.success(.unchanged(let base, _))) = self.fate else { return false }
        return base.seq > first && base.seq <= last
    }

    /// Tells the proposer; under no lock.
    func complete() {
        switch self.fate {
        case .entering(let entry): self.proposal.decided(.success(.committed(entry.change)))
        case .replacing(let place), .passing(let place), .recording(_, let place):
            self.proposal.decided(.success(.unchanged(place, .same)))
        case .renewing(let place, _):
            self.proposal.decided(.success(.unchanged(place, .renewed)))
        case .answered(let answer): self.proposal.decided(answer)
        }
    }
}
