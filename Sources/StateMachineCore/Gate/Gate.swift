import Synchronization

/// The proposals of one machine that cannot be decided straight away, in order of arrival.
///
/// A value that decides and does nothing: each method is an event, and returns the action to
/// perform next. Part of what the machine's lock guards; `machine` is where the machine is, read
/// under that lock. The thread that has begun to pump performs the actions, one at a time, until
/// there is none.
///
/// A proposal is in one place after the other: in `queue`; in `question`, if it is the first and
/// voters may have to be asked (``OpenQuestion/Stage``); among those that `groups` gathers; in the
/// group that the log has (``CommitGroups/Group``); and then its proposer is told. A withdrawn
/// proposal leaves from wherever it is, unless the log already has it; those that were evaluated after it are
/// evaluated again.
struct Gate: Sendable {
    typealias Answer = Move.Answer
    typealias Pending = PendingProposal
    typealias Evaluated = EvaluatedProposal

    let hasLog: Bool
    /// How many may wait.
    let limit: Int
    var voters = Electorate()
    var queue = ProposalQueue()
    var question = OpenQuestion()
    var groups = CommitGroups()
    /// States to recast, before any proposal is evaluated.
    var recasts: [PendingRecast] = []
    /// The thread that performs the actions.
    var pumper: ThreadIdentity?

    init(hasLog: Bool, limit: Int) {
        self.hasLog = hasLog
        self.limit = limit
    }

    // MARK: - Queries

    /// Whether a proposal could be decided without waiting for others or for the log.
    var isFree: Bool {
        !self.hasLog && self.queue.waitingCount == 0 && self.recasts.isEmpty
    }

    /// Whether that still holds, and no voter has come who would have to be asked.
    func isFree(since version: Int) -> Bool {
        self.voters.version == version && self.queue.waitingCount == 0 && self.recasts.isEmpty
    }

    /// Whether the calling thread pumps, and so would wait for itself.
    var isPumpedHere: Bool { self.pumper?.isCurrent ?? false }

    /// The number of the group that the log has and has not answered; nil if there is none.
    var groupUnderWay: UInt64? { self.groups.underWay }

    /// The question that is open, or was just decided.
    var ballot: Ballot? { self.question.ballot }

    // MARK: - Proposals come and go

    /// Adds a new proposal.
    ///
    /// - Parameters:
    ///   - pending: the proposal.
    ///   - isLimited: whether it is refused where there is no room.
    /// - Returns: whether it is there, and whether to pump.
    mutating func proposed(_ pending: Pending, isLimited: Bool) -> Arrival {
        guard !isLimited || self.queue.count < self.limit else { return .refused }
        self.queue.add(pending)
        // A thread that proposes and asks nobody waits, and may be the one that would release.
        if pending.question == nil { self.groups.release() }
        return self.isAwaitingMore ? .left : .entered
    }

    /// Withdraws a proposal that its proposer no longer wants.
    mutating func withdrawn(_ pending: Pending) -> Withdrawal {
        switch self.queue.place(of: pending) {
        case .nowhere:
            pending.isWithdrawn.store(true, ordering: .sequentiallyConsistent)
            self.groups.withdrawn()
            return .isEvaluated
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

    /// Notes that more is about to come, to be committed together; only matters with a log.
    mutating func held() { if self.hasLog { self.groups.hold() } }

    /// Notes that what was about to come has come.
    mutating func released(at machine: Place) -> Action? {
        self.groups.release()
        return self.pumped(at: machine)
    }

    // MARK: - The pump

    /// Begins to pump.
    ///
    /// - Returns: what to do; nil if there is nothing, or another thread is pumping.
    mutating func pumped(at machine: Place) -> Action? {
        guard self.pumper == nil else { return nil }
        self.pumper = .current
        return self.next(machine)
    }

    /// An action that has no event of its own has been performed.
    mutating func performed(at machine: Place) -> Action? { self.next(machine) }

    /// Records the evaluation of proposals that ask nobody.
    mutating func evaluated(_ evaluated: [Evaluated], at machine: Place) -> Action? {
        if !self.hasLog, let first = evaluated.lazy.compactMap(\.entry).first {
            // Without a log others may have moved the machine meanwhile.
            if first.change.seq == machine.seq + 1 { return .tell(evaluated) }
            self.queue.putBack(evaluated.map(\.pending))
            return self.next(machine)
        }
        self.groups.gather(evaluated)
        return self.next(machine)
    }

    /// Records the log's answer to the group of that number: nil, or why it could not commit; then
    /// the caller has to pump.
    mutating func committed(_ group: UInt64, failure: String?) {
        self.groups.end(group, failure: failure)
    }

    // MARK: - Deciding what is next

    /// Returns the next action; nil ends the pump.
    mutating func next(_ machine: Place) -> Action? {
        while true {
            if let ended = self.groups.takeEnded(at: machine) {
                self.putBack(ended.again)
                return .tell(ended.told)
            }
            if let (withdrawn, again) = self.groups.takeWithdrawn() {
                self.putBack(again)
                return .tell(
                    withdrawn.map { pending in
                        Evaluated(
                            pending,
                            .answered(.failure(Refused(.withdrawn, current: machine)))
                        )
                    }
                )
            }
            if let ballot = self.question.takeVoided() { return .asking(.void(ballot)) }
            if let recast = self.recasts.first {
                // Proposals that were evaluated in the old form are committed first; meanwhile nothing is evaluated.
                if self.groups.areQuiet { return .recasting(.evaluate(recast, from: machine)) }
                if let transitions = self.groups.begin() {
                    if transitions.isEmpty { continue }
                    return .commit(transitions, group: self.groups.count)
                }
                self.pumper = nil
                return nil
            }
            if self.groups.areQuiet { self.question.cameQuiet() }
            // An assignment under way may make it stale: this is checked again when that has ended.
            if case .decided(let ballot, let verdict) = self.question.stage,
                machine.seq != ballot.motion.current.seq || self.groups.last == nil
            {
                return self.decided(verdict, by: ballot, at: machine)
            }
            if let run = self.takeRun() { return .evaluateAll(run, from: self.ahead(of: machine)) }
            if case .waiting = self.question.stage, let first = self.queue.first,
                self.groups.room > 0,
                !self.isAwaitingMore
            {
                return .asking(
                    .evaluate(
                        first,
                        from: self.ahead(of: machine),
                        hasVoters: !self.voters.isEmpty
                    )
                )
            }
            if let transitions = self.groups.begin() {
                if transitions.isEmpty { continue }
                return .commit(transitions, group: self.groups.count)
            }
            self.pumper = nil
            return nil
        }
    }

    /// Has proposals that were evaluated evaluated again, before all others.
    private mutating func putBack(_ again: [Pending]) {
        guard !again.isEmpty else { return }
        self.queue.putBack(again)
        self.question.cameQuiet()
    }

    /// The machine as it will be when everything evaluated so far has happened.
    func ahead(of machine: Place) -> Place {
        guard let last = self.groups.last else { return machine }
        return last.change.place
    }

    var isAwaitingMore: Bool {
        self.groups.areAwaitingMore(with: self.queue.waitingCount)
    }

    /// Takes the proposals that can be evaluated together: those that ask no voters and, with a log, all of them while
    /// there are no voters.
    ///
    /// Only the pump moves a machine with a log, so they need not be found in the queue again.
    mutating func takeRun() -> [Pending]? {
        if let run = self.queue.takeAssignments(self.groups.room) { return run }
        guard self.hasLog, case .waiting = self.question.stage, self.voters.isEmpty,
            !self.isAwaitingMore
        else { return nil }
        return self.queue.takeWaiting(self.groups.room)
    }
}

/// The gate's answers to events.
extension Gate {
    /// What to do next, under no lock unless stated otherwise.
    enum Action: Sendable {
        /// Decide on proposals that ask nobody; nothing moves meanwhile: ``evaluated(_:at:)``.
        case evaluateAll([Pending], from: Place)
        /// Ask the log to commit these, a group of that number: ``committed(_:failure:)``.
        case commit([Change], group: UInt64)
        /// Enter what these enter, at once and under the lock, then tell their proposers.
        case tell([Evaluated])
        /// Handle the first proposal that voters may have to be asked about.
        case asking(Asking)
        /// Handle a state that is to be recast.
        case recasting(Recasting)
    }

    /// Where a new proposal went.
    enum Arrival: Sendable {
        /// Its turn may have come: the caller has to pump.
        case entered
        /// Left until more has come.
        case left
        /// Nowhere: there was no room.
        case refused
    }

    /// Where a withdrawn proposal was.
    enum Withdrawal: Sendable {
        /// In the queue; it has been removed.
        case left
        /// With the voters: their ballot is to end.
        case isAsked(Ballot)
        /// Evaluated: the pump will find that it is withdrawn, unless the log has it or it is decided.
        case isEvaluated
    }
}
