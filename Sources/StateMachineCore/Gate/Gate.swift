import Glibc
import Synchronization

/// The proposals of one machine that cannot be decided straight away, in order of arrival.
///
/// Part of what the machine's lock guards. Decides what is to be done next and does nothing itself:
/// ``StateMachine/pump()`` asks for one step after the other and performs it under no lock. There is
/// one pump at a time.
@usableFromInline
struct Gate<State: MachineState>: Sendable {
    typealias Answer = Result<StateMachine<State>.Acceptance, TransitionError<State>>

    /// A proposal that waits its turn.
    final class Pending: Sendable {
        let new: State
        let isExpected: @Sendable (Snapshot<State>) -> Bool
        let reenter: Bool
        let cause: String?
        let by: Peer?
        /// Nil: nobody is asked.
        let question: Question?
        /// How long ago it was proposed; nil: that does not count.
        let waited: (@Sendable () -> Duration)?
        let completion: @Sendable (Answer) -> Void
        /// Nil: it is called where it was decided.
        let place: (any CompletionPlace)?
        /// Whether its proposer does not want it any more; set under the machine's lock.
        let isWithdrawn = Atomic<Bool>(false)

        init(
            _ new: State,
            isExpected: @escaping @Sendable (Snapshot<State>) -> Bool,
            reenter: Bool,
            cause: String?,
            by: Peer?,
            question: Question?,
            waited: (@Sendable () -> Duration)? = nil,
            place: (any CompletionPlace)? = nil,
            completion: @escaping @Sendable (Answer) -> Void
        ) {
            self.new = new
            self.isExpected = isExpected
            self.reenter = reenter
            self.cause = cause
            self.by = by
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
    struct Judged: Sendable {
        enum Fate: Sendable {
            case entering(TransitionEntry<State>)
            /// It is refused or changes nothing, and the answer waits for what came before. Indirect, to
            /// keep what is common small.
            indirect case answered(Answer)
        }

        let pending: Pending
        let fate: Fate

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

        /// Under no lock.
        func complete() {
            switch self.fate {
            case .entering(let entry):
                self.pending.completion(.success(.committed(entry.transition)))
            case .answered(let answer): self.pending.completion(answer)
            }
        }
    }

    enum Group: Sendable {
        case none
        case committing([Judged])
        /// The log has answered; nil: it is durable.
        case ended([Judged], failure: String?)
    }

    /// What to do with the first proposal.
    enum Decision: Sendable {
        case refuse(TransitionError<State>)
        case leave
        case enter
        case ask([VoterMember<State>], Question)
    }

    enum Poll: Sendable {
        case none
        /// Voters are to be asked about the first proposal once nothing is on its way to the log,
        /// since they have to have heard of all that came before.
        case awaitingQuiet
        case open(Ballot<State>)
        case decided(Ballot<State>, Verdict)
    }

    var voters: [VoterMember<State>] = []
    /// Goes up whenever a voter comes.
    var votersVersion = 0
    var pending: [Pending] = []
    /// Those that ask nobody, of a machine with a log: they wait for no voter, and so go first.
    var assignments: [Pending] = []
    var poll = Poll.none
    /// Judged while a group is being committed; the next group.
    var gathering: [Judged] = []
    var group = Group.none
    /// Groups that the log has been given so far.
    var groups: UInt64 = 0
    /// Whether more is about to come, which the next group is to have as well.
    var isHeld = false
    /// Who pumps.
    var pumper: pthread_t?

    /// Proposals in one group; the rest gather for the next.
    ///
    /// 1024: bounds what a failing log takes with it. Not tuned.
    static var groupLimit: Int { 1024 }

    /// Proposals that make a group even while groups are held.
    ///
    /// 128: half of what one client of the server may have undecided, so that the other half is judged while
    /// they are committed. Measured on two processors with eight clients: a fifth more sets a second
    /// than with 32, and than with 256. On a single processor nothing happens meanwhile, and the larger
    /// the group the less each costs.
    static var heldLimit: Int { Processors.areSeveral ? 128 : self.groupLimit }

    /// Whether what gathers may go to the log as soon as that is free.
    var isReady: Bool {
        !self.gathering.isEmpty && (!self.isHeld || self.gathering.count >= Self.heldLimit)
    }

    /// Whether the proposals that have come are left until the turn in which more are about to come has
    /// ended, so that all of them are judged in one go.
    var isAwaitingMore: Bool {
        guard self.isHeld else { return false }
        switch self.group {
        case .none: return self.pending.count + self.gathering.count < Self.heldLimit
        case .committing, .ended: return self.pending.count < Self.heldLimit
        }
    }

    /// Takes the proposals that may be judged in one go: such that ask nobody, and, if there is a log,
    /// such that have nobody to ask.
    ///
    /// Nothing but its pump moves a machine with a log, so that they need not be found in the queue again.
    mutating func takeRun(hasLog: Bool) -> [Pending]? {
        let room = Self.groupLimit - self.gathering.count
        if !self.assignments.isEmpty { return self.assignments.takeFirst(room) }
        guard hasLog, case .none = self.poll, self.voters.isEmpty, !self.isAwaitingMore else {
            return nil
        }
        return self.pending.takeFirst(room)
    }

    /// Adds to the next group.
    mutating func gather(_ judged: [Judged]) {
        // Taken as it is where it can be: to add counts a reference for each.
        if self.gathering.isEmpty {
            self.gathering = judged
        } else {
            self.gathering.append(contentsOf: judged)
        }
    }

    /// The number of the group that the log has and has not answered; nil if there is none.
    var groupUnderWay: UInt64? {
        switch self.group {
        case .committing: self.groups
        case .none, .ended: nil
        }
    }

    /// Whether nothing is on its way to the log.
    var isQuiet: Bool {
        switch self.group {
        case .none: self.gathering.isEmpty
        case .committing, .ended: false
        }
    }

    /// The last transition that will have happened when the log has committed what it has and what
    /// gathers.
    var lastJudged: TransitionEntry<State>? {
        if let last = Self.last(of: self.gathering) { return last }
        switch self.group {
        case .none: return nil
        case .committing(let judged), .ended(let judged, _): return Self.last(of: judged)
        }
    }

    private static func last(of judged: [Judged]) -> TransitionEntry<State>? {
        for one in judged.reversed() {
            if let entry = one.entry { return entry }
        }
        return nil
    }

    /// Becomes the pump, unless there is one.
    mutating func beginPumping() -> Bool {
        guard self.pumper == nil else { return false }
        self.pumper = pthread_self()
        return true
    }

    var isPumpedHere: Bool {
        guard let pumper = self.pumper else { return false }
        return pthread_equal(pumper, pthread_self()) != 0
    }
}

extension Array {
    /// The first `count` elements, or all of them, which leave.
    fileprivate mutating func takeFirst(_ count: Int) -> [Element]? {
        guard count > 0, !self.isEmpty else { return nil }
        guard count < self.count else {
            let all = self
            self = []
            return all
        }
        defer { self.removeFirst(count) }
        return Array(self[..<count])
    }
}
