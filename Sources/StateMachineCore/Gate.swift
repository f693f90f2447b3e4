import Glibc

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
        let waited: @Sendable () -> Duration
        let completion: @Sendable (Answer) -> Void
        /// Called after the completions of all that was decided together with it.
        let afterBurst: (@Sendable () -> Void)?

        init(
            _ new: State,
            isExpected: @escaping @Sendable (Snapshot<State>) -> Bool,
            reenter: Bool,
            cause: String?,
            by: Peer?,
            question: Question?,
            waited: @escaping @Sendable () -> Duration,
            afterBurst: (@Sendable () -> Void)? = nil,
            completion: @escaping @Sendable (Answer) -> Void
        ) {
            self.new = new
            self.isExpected = isExpected
            self.reenter = reenter
            self.cause = cause
            self.by = by
            self.question = question
            self.waited = waited
            self.afterBurst = afterBurst
            self.completion = completion
        }
    }

    /// A proposal whose fate is decided if the log commits the group that it is in.
    struct Judged: Sendable {
        let pending: Pending
        /// Nil if it is refused or changes nothing, and then the answer waits for what came before.
        let transition: Transition<State>?
        let answer: Answer
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

    /// Filed under the lock, made under none.
    ///
    /// It keeps all of the proposal until then, so that what
    /// its closures hold is let go under no lock either.
    typealias Call = (pending: Pending, answer: Answer)

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
    /// 32: the next ones are judged while they are committed, and a commit costs as much as judging
    /// one or two. Not tuned.
    static var heldLimit: Int { 32 }

    /// Whether what gathers may go to the log as soon as that is free.
    var isReady: Bool {
        !self.gathering.isEmpty && (!self.isHeld || self.gathering.count >= Self.heldLimit)
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
    var lastJudged: Transition<State>? {
        if let last = self.gathering.last(where: { $0.transition != nil }) {
            return last.transition
        }
        switch self.group {
        case .none: return nil
        case .committing(let judged), .ended(let judged, _):
            return judged.last { $0.transition != nil }?.transition
        }
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
