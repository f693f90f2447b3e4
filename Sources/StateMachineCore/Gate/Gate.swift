import Glibc
import Synchronization

/// The proposals of one machine that cannot be decided straight away, in order of arrival.
///
/// A value that decides and does nothing: each method is an event, and the action that comes back is
/// what is to be done next. Part of what the machine's lock guards; `machine` is where the machine is,
/// read under that lock. Who has begun to pump performs the actions, one at a time, until there is none.
@usableFromInline
struct Gate<State: MachineState>: Sendable {
    typealias Answer = Result<StateMachine<State>.Acceptance, TransitionError<State>>
    typealias Pending = PendingProposal<State>
    typealias Evaluated = EvaluatedProposal<State>

    @usableFromInline let hasLog: Bool
    /// How many may wait.
    private let limit: Int
    @usableFromInline private(set) var voters: [VoterMember<State>] = []
    /// Goes up whenever a voter comes.
    @usableFromInline private(set) var votersVersion = 0
    @usableFromInline private(set) var queue = ProposalQueue<State>()
    private var question = OpenQuestion<State>()
    private var groups = CommitGroups<State>()
    /// States that are to be recast, before all others are evaluated.
    @usableFromInline private(set) var recasts: [PendingRecast<State>] = []
    /// Who performs the actions.
    private var pumper: pthread_t?

    init(hasLog: Bool, limit: Int) {
        self.hasLog = hasLog
        self.limit = limit
    }

    // MARK: - What it is asked

    /// Whether a proposal could be decided without waiting for others or for the log.
    @inlinable var isFree: Bool {
        !self.hasLog && self.queue.waitingCount == 0 && self.recasts.isEmpty
    }

    /// Whether that is so still, and nobody has come who would have to be asked.
    @inlinable
    func isFree(since version: Int) -> Bool {
        self.votersVersion == version && self.queue.waitingCount == 0 && self.recasts.isEmpty
    }

    /// Whether the calling thread pumps, and so would wait for itself.
    var isPumpedHere: Bool {
        guard let pumper = self.pumper else { return false }
        return pthread_equal(pumper, pthread_self()) != 0
    }

    /// The number of the group that the log has and has not answered; nil if there is none.
    var groupUnderWay: UInt64? { self.groups.underWay }

    /// The question that is open, or was just decided.
    var ballot: Ballot<State>? { self.question.ballot }

    // MARK: - Proposals come and go

    /// A proposal has come.
    ///
    /// - Parameters:
    ///   - pending: the proposal.
    ///   - isLimited: whether it is refused where there is no room.
    /// - Returns: whether it is there, and whether to pump.
    mutating func proposed(_ pending: Pending, isLimited: Bool) -> Arrival {
        guard !isLimited || self.queue.count < self.limit else { return .refused }
        self.queue.add(pending)
        // The thread of one that asks nobody waits, and may be the one that would release.
        if pending.question == nil { self.groups.release() }
        return self.isAwaitingMore ? .left : .entered
    }

    /// The state is to be recast; then somebody has to pump.
    mutating func recastCame(_ recast: PendingRecast<State>) {
        self.recasts.append(recast)
        self.groups.release()
    }

    /// Its proposer does not want that one any more.
    mutating func withdrawn(_ pending: Pending) -> Withdrawal {
        switch self.queue.place(of: pending) {
        case .nowhere: return .tooLate
        case .behind: break
        case .first:
            pending.isWithdrawn.store(true, ordering: .sequentiallyConsistent)
            switch self.question.stage {
            case .asked(let ballot): return .isAsked(ballot)
            case .decided: return .isEvaluated
            case .awaitingQuiet: self.question.wait()
            case .waiting:
                // The pump may have it in its hands.
                guard self.pumper == nil else { return .isEvaluated }
            }
        }
        self.queue.remove(pending)
        return .left
    }

    /// More is about to come, which is to be committed together; only with a log that means anything.
    mutating func held() { if self.hasLog { self.groups.hold() } }

    /// What was about to come has come.
    mutating func released(at machine: Snapshot<State>) -> Action? {
        self.groups.release()
        return self.pumped(at: machine)
    }

    // MARK: - Voters

    mutating func voterCame(_ voter: VoterMember<State>) {
        self.voters.append(voter)
        self.votersVersion += 1
    }

    /// - Returns: the question that is open, in which the voter abstains.
    mutating func voterWent(_ voter: VoterMember<State>) -> Ballot<State>? {
        self.voters.removeAll { $0 === voter }
        guard case .asked(let ballot) = self.question.stage else { return nil }
        return ballot
    }

    /// The voters have spoken on the question of that number; then somebody has to pump.
    mutating func voted(_ verdict: Verdict, on number: UInt64) {
        self.question.decided(verdict, on: number)
    }

    // MARK: - The pump

    /// Somebody wants to pump.
    ///
    /// - Returns: what is to be done; nil if that is nothing, or somebody else is at it.
    mutating func pumped(at machine: Snapshot<State>) -> Action? {
        guard self.pumper == nil else { return nil }
        self.pumper = pthread_self()
        return self.next(machine)
    }

    /// An action that nothing is said of has been performed.
    mutating func performed(at machine: Snapshot<State>) -> Action? { self.next(machine) }

    /// Those that nobody is asked about were decided on.
    mutating func evaluated(_ evaluated: [Evaluated], at machine: Snapshot<State>) -> Action? {
        if !self.hasLog, let first = evaluated.lazy.compactMap(\.entry).first {
            // Without a log others may have moved the machine meanwhile.
            if first.seq == machine.seq + 1 { return .tell(evaluated) }
            self.queue.putBack(evaluated.map(\.pending))
            return self.next(machine)
        }
        self.groups.gather(evaluated)
        return self.next(machine)
    }

    /// The first proposal was decided on as it looked from `base`.
    ///
    /// - Parameters:
    ///   - pending: the proposal.
    ///   - decision: what is to become of it.
    ///   - base: where the machine was, or was to be.
    ///   - machine: where it is.
    ///   - decided: whom its voters tell, with the number of the question.
    /// - Returns: what is next.
    mutating func evaluated(
        _ pending: Pending,
        as decision: Decision,
        from base: Snapshot<State>,
        at machine: Snapshot<State>,
        decided: @escaping @Sendable (Verdict, _ question: UInt64) -> Void
    ) -> Action? {
        guard !pending.isWithdrawn.load(ordering: .sequentiallyConsistent) else {
            return self.answer(pending, .failure(.withdrawn(current: machine)), machine)
        }
        guard self.ahead(of: machine).seq == base.seq else { return self.next(machine) }
        switch decision {
        case .refuse(let error): return self.answer(pending, .failure(error), machine)
        case .leave: return self.answer(pending, .success(.unchanged(base)), machine)
        case .enter(let entry): return self.settle(Evaluated(pending, .entering(entry)), machine)
        case .ask(let voters, let proposal, let question):
            guard self.groups.areQuiet else {
                self.question.awaitQuiet()
                return self.next(machine)
            }
            // Whoever is cancelled after this finds the ballot, and is released from it.
            let present = voters.filter { !$0.isCancelled }
            guard !present.isEmpty else { return self.next(machine) }
            let ballot = self.question.put(
                on: proposal,
                under: question,
                to: present,
                decided: decided
            )
            return .ask(ballot, question, waited: pending.waited)
        }
    }

    /// The proposer was asked once more.
    ///
    /// - Parameters:
    ///   - ballot: what the voters agreed to.
    ///   - entry: the transition that it makes; nil if it is not wanted any more.
    ///   - machine: where it is.
    /// - Returns: what is next.
    mutating func confirmed(
        _ ballot: Ballot<State>,
        with entry: TransitionEntry<State>?,
        at machine: Snapshot<State>
    ) -> Action? {
        let base = ballot.proposal.current
        guard let entry else {
            return self.close(ballot, with: .answered(.failure(.conflict(current: base))), machine)
        }
        return self.close(ballot, with: .entering(entry), machine)
    }

    /// The state was recast as it was at `base`.
    mutating func recast(
        _ recast: PendingRecast<State>,
        as decision: RecastDecision,
        from base: Snapshot<State>,
        at machine: Snapshot<State>
    ) -> Action? {
        // Without a log others may have moved the machine meanwhile.
        guard machine.seq == base.seq else { return self.next(machine) }
        self.recasts.removeFirst()
        switch decision {
        case .refuse(let why): return .refuse(recast, why)
        case .replace(let state):
            self.question.void()
            return .replace(recast, base, with: state)
        case .enter(let entry):
            self.question.void()
            let evaluated = recast.evaluated(entry)
            guard self.hasLog else { return .tell([evaluated]) }
            self.groups.gather(evaluated)
            return self.next(machine)
        }
    }

    /// The log has answered: nil, or why it could not; then somebody has to pump.
    mutating func committed(failure: String?) { self.groups.end(failure: failure) }

    // MARK: - Deciding what is next

    /// With nil the pump has ended.
    private mutating func next(_ machine: Snapshot<State>) -> Action? {
        while true {
            if let ended = self.groups.takeEnded(at: machine) {
                self.queue.putBack(ended.again)
                if !ended.again.isEmpty { self.question.cameQuiet() }
                return .tell(ended.told)
            }
            if let ballot = self.question.takeVoided() { return .void(ballot) }
            if let recast = self.recasts.first {
                // What was evaluated as the state was is committed as that, and nothing is evaluated meanwhile.
                if self.groups.areQuiet { return .recast(recast, from: machine) }
                if let transitions = self.groups.begin() {
                    if transitions.isEmpty { continue }
                    return .commit(transitions)
                }
                self.pumper = nil
                return nil
            }
            if self.groups.areQuiet { self.question.cameQuiet() }
            if let (ballot, verdict) = self.decidedBallot(machine) {
                switch verdict {
                case .yes:
                    guard let pending = self.queue.first else { continue }
                    return .confirm(pending, ballot)
                case .no(let denials):
                    let error = TransitionError.denied(
                        by: denials,
                        current: ballot.proposal.current
                    )
                    return self.close(ballot, with: .answered(.failure(error)), machine)
                }
            }
            if let run = self.takeRun() { return .evaluateAll(run, from: self.ahead(of: machine)) }
            if case .waiting = self.question.stage, let first = self.queue.first,
                self.groups.room > 0,
                !self.isAwaitingMore
            {
                return .evaluate(first, from: self.ahead(of: machine), asking: self.voters)
            }
            if let transitions = self.groups.begin() {
                if transitions.isEmpty { continue }
                return .commit(transitions)
            }
            self.pumper = nil
            return nil
        }
    }

    /// The question that the voters have decided, if it is time to see to it: whether an assignment that is
    /// on its way makes it stale is seen when that has ended.
    private mutating func decidedBallot(_ machine: Snapshot<State>) -> (Ballot<State>, Verdict)? {
        guard case .decided(let ballot, let verdict) = self.question.stage,
            machine.seq != ballot.proposal.current.seq || self.groups.last == nil
        else { return nil }
        self.question.wait()
        return (ballot, verdict)
    }

    /// The machine as it will be when everything evaluated so far has happened.
    private func ahead(of machine: Snapshot<State>) -> Snapshot<State> {
        guard let last = self.groups.last else { return machine }
        return last.snapshot
    }

    private var isAwaitingMore: Bool { self.groups.areAwaitingMore(with: self.queue.waitingCount) }

    /// Takes the proposals that may be evaluated in one go: such that ask nobody, and, if there is a log,
    /// such that have nobody to ask.
    ///
    /// Nothing but its pump moves a machine with a log, so that they need not be found in the queue again.
    private mutating func takeRun() -> [Pending]? {
        if let run = self.queue.takeAssignments(self.groups.room) { return run }
        guard self.hasLog, case .waiting = self.question.stage, self.voters.isEmpty,
            !self.isAwaitingMore
        else { return nil }
        return self.queue.takeWaiting(self.groups.room)
    }

    // MARK: - What becomes of the first proposal

    private mutating func answer(
        _ pending: Pending,
        _ answer: Answer,
        _ machine: Snapshot<State>
    ) -> Action? {
        self.settle(Evaluated(pending, .answered(answer)), machine)
    }

    /// It leaves the queue, and its proposer is told after all that came before it.
    private mutating func settle(_ evaluated: Evaluated, _ machine: Snapshot<State>) -> Action? {
        self.queue.removeFirst()
        let isDue = evaluated.entry == nil ? self.groups.areQuiet : !self.hasLog
        guard !isDue else { return .tell([evaluated]) }
        self.groups.gather(evaluated)
        return self.next(machine)
    }

    /// What the voters decided is done, unless the machine has moved past the gate meanwhile.
    private mutating func close(
        _ ballot: Ballot<State>,
        with fate: Evaluated.Fate,
        _ machine: Snapshot<State>
    ) -> Action? {
        guard let pending = self.queue.first else { return self.next(machine) }
        guard !pending.isWithdrawn.load(ordering: .sequentiallyConsistent) else {
            return self.answer(pending, .failure(.withdrawn(current: machine)), machine)
        }
        guard machine.seq == ballot.proposal.current.seq else {
            return self.answer(pending, .failure(.stale(current: machine)), machine)
        }
        return self.settle(Evaluated(pending, fate), machine)
    }
}
