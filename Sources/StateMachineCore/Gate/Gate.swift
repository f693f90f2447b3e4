import Synchronization

/// The proposals of one machine that cannot be decided straight away, in order of arrival.
///
/// A value that decides and does nothing: each method is an event, and returns the action to
/// perform next. Part of what the machine's lock guards; `machine` is where the machine is, read
/// under that lock. The thread that has begun to pump performs the actions, one at a time, until
/// there is none.
///
/// A proposal is in one place after the other: in `recasts`, `assignments` or `waiting`; there, if it is the
/// first and voters may have to be asked, in one ``Stage`` after the other; among those that
/// `groups` gathers; in the group that the log has (``CommitGroups/Group``); and then its proposer
/// is told. A withdrawn proposal leaves from wherever it is, unless the log already has it; those
/// that were evaluated after it are evaluated again.
struct Gate: Sendable {
    typealias Answer = Move.Answer
    typealias Proposal = Machine.Proposal
    typealias Evaluated = EvaluatedProposal

    /// How far the first of those that wait has come.
    private enum Stage: Sendable {
        /// It waits its turn, or is being evaluated.
        case waiting
        /// Voters are to be asked about it once nothing is on its way to the log, since they have to
        /// have heard of all that came before.
        case awaitingQuiet
        /// The voters have it.
        case asked(Ballot)
        /// The voters have spoken, and it is carried out next.
        case decided(Ballot, Verdict)
    }

    let hasLog: Bool
    /// Whether it is known where the machine is; until then nothing is decided.
    var isPlaced: Bool
    /// How many of those that are limited may wait.
    let limit: Int
    var voters = Electorate()
    private(set) var groups: CommitGroups
    /// Those that voters may have to be asked about.
    private var waiting = ProposalQueue()
    /// Those that ask nobody: they wait for no voter, and so go first.
    private var assignments = ProposalQueue()
    private var stage = Stage.waiting
    /// Those who have come since the question was put, and have their say before its answer is carried out.
    private var newcomers: [VoterMember] = []
    /// A question to close without an answer, since the state was recast, others have moved the machine, or the log objects.
    private var voided: Ballot?
    /// How many questions have been put.
    private var questions: UInt64 = 0
    /// Why the log would commit nothing now; nil: it would.
    private var objection: String?
    /// Those that are to be recorded and not decided.
    private var records: [Proposal] = []
    /// What others have made of the machine, and is to be entered once the log has answered; nil: nothing has come of
    /// others, not even a voter.
    private var foreign: [ChangeEntry]?
    /// Those that recast the state, before any other is evaluated.
    private var recasts: [Proposal] = []
    /// The thread that performs the actions.
    private var pumper: ThreadIdentity?

    /// - Parameters:
    ///   - hasLog: whether there is a log.
    ///   - confirms: whether it confirms answers that change nothing.
    ///   - isPlaced: whether it is known where the machine is.
    ///   - limit: how many of those that are limited may wait.
    init(hasLog: Bool, confirming confirms: Bool, isPlaced: Bool, limit: Int) {
        self.hasLog = hasLog
        self.isPlaced = isPlaced
        self.groups = CommitGroups(confirming: confirms)
        self.limit = limit
    }

    /// What to do next, under no lock unless stated otherwise.
    enum Action: Sendable {
        /// Decide on proposals that ask nobody: ``evaluated(_:from:at:)``.
        case evaluateAll([Proposal], from: Place)
        /// Decide on the first that recasts the state, or that voters may have to be asked about:
        /// ``evaluated(_:as:from:since:at:decided:)``; `version` is that of the voters.
        case evaluate(Proposal, from: Place, hasVoters: Bool, version: Int)
        /// Determine who of these wants to be asked as well: ``joined(_:_:at:_:decided:)``.
        case join(Ballot, [VoterMember])
        /// Put the question, at once and under the lock, then wake the voters: ``voted(_:on:)``.
        case ask(QuestionEntry)
        /// The voters agree. Ask whether the proposer still does: ``confirmed(_:with:at:)``.
        case confirm(Proposal, Ballot)
        /// Close a question whose answer no longer counts.
        case void(Ballot)
        /// Ask the log to commit these, or to confirm answers if there are none, a group of that number:
        /// ``committed(_:_:then:)``.
        case commit([Record], group: UInt64)
        /// Enter what others have made of the machine, at once and under the lock; nobody is answered.
        case follow([ChangeEntry])
        /// Enter what these enter, or put it in place, at once and under the lock, then tell their proposers.
        case tell([Evaluated])
    }

    // MARK: - Queries

    /// Whether a proposal could be decided without waiting for others or for the log.
    var isFree: Bool { !self.hasLog && self.waiting.isEmpty && self.recasts.isEmpty }

    /// Whether that still holds, and no voter has come who would have to be asked.
    func isFree(since version: Int) -> Bool {
        self.voters.version == version && self.waiting.isEmpty && self.recasts.isEmpty
    }

    /// Whether the calling thread pumps, and so would wait for itself.
    var isPumpedHere: Bool { self.pumper?.isCurrent ?? false }

    /// The question that is open, or was just decided.
    var ballot: Ballot? {
        switch self.stage {
        case .waiting, .awaitingQuiet: nil
        case .asked(let ballot), .decided(let ballot, _): ballot
        }
    }

    /// Told of the voters' verdict, and of the number of the question.
    typealias Decided = @Sendable (Verdict, _ question: UInt64) -> Void

    // MARK: - Proposals come and go

    /// Where a new proposal went.
    enum Arrival: Sendable {
        /// Its turn may have come: the caller has to pump.
        case entered
        /// Left until more has come.
        case left
        /// Nowhere: there was no room.
        case refused
    }

    /// Adds a new proposal, unless it is limited and there is no room.
    ///
    /// - Returns: whether it is there, and whether to pump.
    mutating func proposed(_ proposal: Proposal) -> Arrival {
        if case .record = proposal.demand {
            self.records.append(proposal)
            return .entered
        }
        guard !proposal.isLimited || self.hasRoom else { return .refused }
        if proposal.question != nil {
            self.waiting.append(proposal)
        } else {
            if proposal.isRecast {
                self.recasts.append(proposal)
            } else {
                self.assignments.append(proposal)
            }
            // A thread that proposes and asks nobody waits, and may be the one that would release.
            self.groups.isGathering = false
        }
        return self.isAwaitingMore ? .left : .entered
    }

    /// Whether one more that is limited may wait.
    private var hasRoom: Bool { self.waiting.limited + self.assignments.limited < self.limit }

    /// Where a withdrawn proposal was.
    enum Withdrawal: Sendable {
        /// In the queue; it has been removed.
        case left
        /// With the voters: their ballot is to end.
        case isAsked(Ballot)
        /// Evaluated: the pump will find that it is withdrawn, unless the log has it or it is decided.
        case isEvaluated
    }

    /// Withdraws a proposal that its proposer no longer wants.
    mutating func withdrawn(_ proposal: Proposal) -> Withdrawal {
        proposal.isWithdrawn.store(true, ordering: .sequentiallyConsistent)
        if self.withdrawnBeforeItsTurn(proposal) { return .left }
        if self.waiting.first === proposal {
            switch self.stage {
            case .asked(let ballot): return .isAsked(ballot)
            case .waiting, .decided: return .isEvaluated
            case .awaitingQuiet:
                self.stage = .waiting
                self.waiting.removeFirst()
            }
        } else if let index = self.assignments.index(of: proposal) {
            self.assignments.remove(at: index)
        } else {
            self.groups.haveWithdrawn = true
            return .isEvaluated
        }
        return .left
    }

    /// Withdraws a proposal that may ask voters if its turn has not come; returns whether that is so.
    mutating func withdrawnBeforeItsTurn(_ proposal: Proposal) -> Bool {
        guard let index = self.waiting.index(of: proposal) else { return false }
        if index == 0 {
            // The pump may have it in its hands.
            guard case .waiting = self.stage, self.pumper == nil else { return false }
        }
        self.waiting.remove(at: index)
        return true
    }

    /// Notes that more is about to come, to be committed together; only matters with a log.
    ///
    /// - Returns: whether that matters, and was not known.
    mutating func gatheringBegan() -> Bool {
        guard self.hasLog, !self.groups.isGathering else { return false }
        self.groups.isGathering = true
        return true
    }

    /// Notes that what was about to come has come.
    mutating func gatheringEnded(at machine: Place) -> Action? {
        self.groups.isGathering = false
        return self.pumped(at: machine)
    }

    // MARK: - Voters and the log

    /// Adds a voter.
    ///
    /// - Returns: whether the caller has to pump, since it may have a say in what is asked.
    mutating func voterCame(_ voter: VoterMember) -> Bool {
        self.voters.add(voter)
        guard self.ballot != nil else { return false }
        self.newcomers.append(voter)
        return true
    }

    /// Has a voter be found at other buckets; nil: it is asked about every motion.
    ///
    /// - Returns: whether the caller has to pump, since it may have a say in what is asked.
    mutating func voterMoved(_ voter: VoterMember, to buckets: Set<Bucket>?) -> Bool {
        self.voters.move(voter, to: buckets)
        guard self.ballot != nil else { return false }
        self.newcomers.append(voter)
        return true
    }

    /// Removes a voter.
    ///
    /// - Returns: the question that is open, in which its last vote counts.
    mutating func voterWent(_ voter: VoterMember) -> Ballot? {
        self.voters.remove(voter)
        guard case .asked(let ballot) = self.stage else { return nil }
        return ballot
    }

    /// Records the voters' verdict on the question of that number, which may be closed by now, or put to others as well;
    /// then the caller has to pump.
    mutating func voted(_ verdict: Verdict, on number: UInt64) {
        guard case .asked(let ballot) = self.stage, number == self.questions else { return }
        self.stage = .decided(ballot, verdict)
    }

    /// Leaves to the next group what the log has no room for; returns what to give to it.
    mutating func shortened(to room: Int) -> [Record] { self.groups.shorten(to: room) }

    /// Records the log's answer to the group of that number, with the entries of what has overtaken it; then the
    /// caller has to pump.
    mutating func committed(_ group: UInt64, _ outcome: Recorded, then foreign: [ChangeEntry]) {
        self.groups.recorded(group, outcome)
        if !foreign.isEmpty { self.adopted(foreign) }
    }

    /// Notes what others have made of the machine, which may be nothing; then the caller has to pump.
    mutating func adopted(_ foreign: [ChangeEntry]) {
        self.foreign = (self.foreign ?? []) + foreign
    }

    /// Notes why the log would commit nothing now, or that it would; then the caller has to pump.
    mutating func logObjects(_ objection: String?) { self.objection = objection }

    /// Has what could not be recorded, and nobody is told of, recorded; then the caller has to pump.
    mutating func logRecovered() { self.groups.tryAgain() }

    /// Has something recorded in the next group of which nobody is told; then the caller has to pump.
    mutating func noted(_ record: Record) { self.groups.note(record) }

    // MARK: - The pump

    /// Begins to pump.
    ///
    /// - Returns: what to do; nil if there is nothing, or another thread is pumping.
    mutating func pumped(at machine: Place) -> Action? {
        guard self.pumper == nil else { return nil }
        self.pumper = .current
        return self.next(machine)
    }

    /// Records the evaluation of proposals that ask nobody, as evaluated from `base`.
    mutating func evaluated(
        _ evaluated: [Evaluated],
        from base: Place,
        at machine: Place
    ) -> Action? {
        guard self.ahead(of: machine).isSame(as: base) else {
            self.putBack(evaluated.map(\.proposal))
            return self.next(machine)
        }
        if !self.hasLog, evaluated.contains(where: { $0.place != nil }) { return .tell(evaluated) }
        self.groups.gather(evaluated)
        return self.next(machine)
    }

    /// What the first proposal's evaluation came to.
    enum Decision: Sendable {
        case settle(Evaluated.Fate)
        case ask([VoterMember], Ballot, QuestionAge)
    }

    /// Records the decision on the first proposal, as evaluated from `base`.
    ///
    /// - Parameters:
    ///   - proposal: the proposal.
    ///   - decision: what is to become of it.
    ///   - base: where the machine was, or was to be.
    ///   - version: of the voters by then.
    ///   - machine: where it is.
    ///   - decided: called with the voters' verdict and the number of the question.
    /// - Returns: the next action.
    mutating func evaluated(
        _ proposal: Proposal,
        as decision: Decision,
        from base: Place,
        since version: Int,
        at machine: Place,
        decided: @escaping Decided
    ) -> Action? {
        guard proposal.isStillWanted else { return self.refuse(proposal, .withdrawn, machine) }
        guard self.ahead(of: machine).isSame(as: base) else { return self.next(machine) }
        switch decision {
        case .settle(let fate): return self.settle(Evaluated(proposal, fate), machine)
        case .ask(let voters, let ballot, let age):
            guard self.groups.areQuiet else {
                self.stage = .awaitingQuiet
                return self.next(machine)
            }
            guard self.voters.version == version else { return self.next(machine) }
            return self.put(ballot, to: voters, at: age, machine, decided: decided)
        }
    }

    /// Records which of those who have come want to be asked as well.
    ///
    /// - Parameters:
    ///   - ballot: the question.
    ///   - voters: those.
    ///   - age: for how long it has been waited for.
    ///   - machine: where the machine is.
    ///   - decided: called with the voters' verdict and the number of the question.
    /// - Returns: the next action.
    mutating func joined(
        _ ballot: Ballot,
        _ voters: [VoterMember],
        at age: QuestionAge,
        _ machine: Place,
        decided: @escaping Decided
    ) -> Action? {
        guard ballot === self.ballot, let proposal = self.waiting.first else {
            return self.next(machine)
        }
        guard proposal.isStillWanted else {
            self.closeQuestion()
            return self.refuse(proposal, .withdrawn, machine)
        }
        return self.put(ballot, to: voters, at: age, machine, decided: decided)
    }

    /// Puts a question to those of the voters who are here and have not been asked.
    private mutating func put(
        _ ballot: Ballot,
        to voters: [VoterMember],
        at age: QuestionAge,
        _ machine: Place,
        decided: @escaping Decided
    ) -> Action? {
        // A voter cancelled after this finds the ballot, and is released from it.
        let present = voters.filter { !$0.isCancelled && !ballot.asks($0) }
        guard !present.isEmpty else { return self.next(machine) }
        self.questions += 1
        let number = self.questions
        if let verdict = ballot.put(to: present, decided: { decided($0, number) }) {
            self.stage = .decided(ballot, verdict)
            return self.next(machine)
        }
        self.stage = .asked(ballot)
        return .ask(QuestionEntry(ballot, to: present, at: age))
    }

    /// Records the proposer's answer when asked once more.
    ///
    /// - Parameters:
    ///   - ballot: what the voters agreed to.
    ///   - entry: the transition that it makes; nil if it is no longer wanted.
    ///   - machine: where the machine is.
    /// - Returns: the next action.
    mutating func confirmed(
        _ ballot: Ballot,
        with entry: ChangeEntry?,
        at machine: Place
    ) -> Action? {
        guard self.newcomers.isEmpty else { return self.next(machine) }
        self.closeQuestion()
        let conflict = Refused(.conflict, current: ballot.motion.current)
        return self.close(
            ballot,
            with: entry.map { .entering($0) } ?? .answered(.failure(conflict)),
            machine
        )
    }

    // MARK: - Deciding what is next

    /// Returns the next action, also when one that has no event of its own has been performed; nil ends the pump.
    mutating func next(_ machine: Place) -> Action? {
        while true {
            if let ended = self.groups.takeEnded(at: machine) {
                self.putBack(ended.again)
                return .tell(ended.told)
            }
            if let foreign = self.takeForeign() { return .follow(foreign) }
            guard self.isPlaced else {
                self.pumper = nil
                return nil
            }
            if let (withdrawn, again) = self.groups.takeWithdrawn() {
                self.putBack(again)
                let answer = Answer.failure(Refused(.withdrawn, current: machine))
                return .tell(withdrawn.map { Evaluated($0, .answered(answer)) })
            }
            if self.objection != nil, self.ballot != nil { self.voidQuestion() }
            if let ballot = self.voided.take() { return .void(ballot) }
            if let refused = self.takeObjected(at: machine) { return .tell(refused) }
            if !self.records.isEmpty {
                self.groups.gather(
                    exchange(&self.records, with: []).map { Evaluated(recording: $0, at: machine) }
                )
            }
            if let recast = self.recasts.first {
                // Proposals that were evaluated in the old form are committed first; meanwhile nothing is evaluated.
                if self.groups.areQuiet {
                    return .evaluate(recast, from: machine, hasVoters: false, version: 0)
                }
            } else if let action = self.nextProposal(machine) {
                return action
            }
            guard let records = self.groups.begin() else {
                self.pumper = nil
                return nil
            }
            if let group = self.groups.underWay { return .commit(records, group: group) }
        }
    }

    /// Takes what others have made of the machine, unless the log has a group, which comes before that or after it as
    /// the log says.
    ///
    /// All that gathers was evaluated against another state, and what voters are asked about is no more.
    private mutating func takeForeign() -> [ChangeEntry]? {
        guard let foreign, self.groups.underWay == nil else { return nil }
        self.foreign = nil
        self.putBack(self.groups.takeGathering())
        if self.ballot != nil { self.voidQuestion() }
        return foreign
    }

    /// Refuses all that the log would be asked for, while it objects; nil if there is nothing.
    ///
    /// The group that the log has waits for its answer. So do those behind it that ask the log for nothing, and those that
    /// ask no voter are evaluated first, which shows whether they do.
    private mutating func takeObjected(at machine: Place) -> [Evaluated]? {
        guard let objection else { return nil }
        var (proposals, again) = self.groups.takeForLog()
        proposals += exchange(&self.records, with: [])
        if let waiting = self.waiting.takeFirst(self.waiting.count) {
            self.closeQuestion()
            proposals += waiting
        }
        self.putBack(again)
        guard !proposals.isEmpty else { return nil }
        return proposals.map { proposal in
            let reason: Refusal =
                proposal.isStillWanted ? .notCommitted(why: objection) : .withdrawn
            return Evaluated(proposal, .answered(.failure(Refused(reason, current: machine))))
        }
    }

    /// What to do about the proposals that have not been evaluated; nil: nothing yet.
    private mutating func nextProposal(_ machine: Place) -> Action? {
        if self.groups.areQuiet { self.cameQuiet() }
        if !self.newcomers.isEmpty, let ballot {
            return .join(ballot, exchange(&self.newcomers, with: []))
        }
        // An assignment under way may make it stale: this is checked again when that has ended.
        if case .decided(let ballot, let verdict) = self.stage,
            machine.seq != ballot.motion.current.seq || self.groups.ahead == nil
        {
            return self.decided(verdict, by: ballot, at: machine)
        }
        // Those that ask no voters can be evaluated together; with a log, all while there are no voters.
        let room = self.groups.room
        if let run = self.assignments.takeFirst(room) {
            return .evaluateAll(run, from: self.ahead(of: machine))
        }
        guard case .waiting = self.stage, !self.isAwaitingMore, room > 0 else { return nil }
        let base = self.ahead(of: machine)
        if self.hasLog, self.voters.isEmpty {
            return self.waiting.takeFirst(room).map { .evaluateAll($0, from: base) }
        }
        return self.waiting.first.map {
            .evaluate(
                $0,
                from: base,
                hasVoters: !self.voters.isEmpty,
                version: self.voters.version
            )
        }
    }

    /// The machine as it will be when everything evaluated so far has happened.
    private func ahead(of machine: Place) -> Place { self.groups.ahead ?? machine }

    private var isAwaitingMore: Bool { self.groups.areAwaitingMore(with: self.waiting.count) }

    private mutating func cameQuiet() {
        if case .awaitingQuiet = self.stage { self.stage = .waiting }
    }

    /// Has proposals that were evaluated evaluated again, before all others.
    private mutating func putBack(_ again: [Proposal]) {
        guard !again.isEmpty else { return }
        var (records, recasts): ([Proposal], [Proposal]) = ([], [])
        var (assignments, waiting): ([Proposal], [Proposal]) = ([], [])
        for proposal in again {
            if case .record = proposal.demand {
                records.append(proposal)
            } else if proposal.isRecast {
                recasts.append(proposal)
            } else if proposal.question == nil {
                assignments.append(proposal)
            } else {
                waiting.append(proposal)
            }
        }
        self.records.insert(contentsOf: records, at: 0)
        self.recasts.insert(contentsOf: recasts, at: 0)
        self.assignments.putBack(assignments)
        self.waiting.putBack(waiting)
        self.cameQuiet()
    }

    /// Acts on the voters' verdict.
    private mutating func decided(
        _ verdict: Verdict,
        by ballot: Ballot,
        at machine: Place
    ) -> Action? {
        switch verdict {
        case .yes:
            if let proposal = self.waiting.first { return .confirm(proposal, ballot) }
            self.closeQuestion()
            return self.next(machine)
        case .no(let denials):
            self.closeQuestion()
            let refused = Refused(ballot.motion, deniedBy: denials)
            return self.close(ballot, with: .answered(.failure(refused)), machine)
        }
    }

    /// Carries out what the voters decided, unless the machine has moved past the gate meanwhile.
    private mutating func close(
        _ ballot: Ballot,
        with fate: Evaluated.Fate,
        _ machine: Place
    ) -> Action? {
        guard let proposal = self.waiting.first else { return self.next(machine) }
        guard proposal.isStillWanted else { return self.refuse(proposal, .withdrawn, machine) }
        guard machine.seq == ballot.motion.current.seq else {
            return self.refuse(proposal, .stale, machine)
        }
        return self.settle(Evaluated(proposal, fate), machine)
    }

    /// Closes an open question, whose proposal is evaluated again, or refused: the state was recast, others have moved the
    /// machine, or the log objects.
    private mutating func voidQuestion() {
        self.voided = self.ballot
        self.closeQuestion()
    }

    private mutating func closeQuestion() {
        self.stage = .waiting
        self.newcomers = []
    }

    private mutating func refuse(
        _ proposal: Proposal,
        _ reason: Refusal,
        _ machine: Place
    ) -> Action? {
        let refused = Refused(reason, current: machine)
        return self.settle(Evaluated(proposal, .answered(.failure(refused))), machine)
    }

    /// Removes the first proposal from the queue; its proposer is told after all that came before
    /// it.
    private mutating func settle(_ evaluated: Evaluated, _ machine: Place) -> Action? {
        if evaluated.proposal.isRecast {
            self.recasts.removeFirst()
            if case .answered = evaluated.fate {} else { self.voidQuestion() }
        } else {
            self.waiting.removeFirst()
        }
        let isDue = evaluated.place == nil ? self.groups.mayAnswer(evaluated) : !self.hasLog
        guard !isDue else { return .tell([evaluated]) }
        self.groups.gather([evaluated])
        return self.next(machine)
    }
}

/// Proposals in order of arrival, and how many of them are limited.
private struct ProposalQueue: Sendable {
    private var proposals: [Machine.Proposal] = []
    private(set) var limited = 0

    var isEmpty: Bool { self.proposals.isEmpty }
    var count: Int { self.proposals.count }
    var first: Machine.Proposal? { self.proposals.first }

    func index(of proposal: Machine.Proposal) -> Int? {
        self.proposals.firstIndex { $0 === proposal }
    }

    mutating func append(_ proposal: Machine.Proposal) {
        self.proposals.append(proposal)
        if proposal.isLimited { self.limited += 1 }
    }

    /// Puts those before all others.
    mutating func putBack(_ proposals: [Machine.Proposal]) {
        self.proposals.insert(contentsOf: proposals, at: 0)
        self.limited += proposals.count(where: \.isLimited)
    }

    mutating func remove(at index: Int) {
        if self.proposals.remove(at: index).isLimited { self.limited -= 1 }
    }

    mutating func removeFirst() { self.remove(at: 0) }

    /// Removes and returns the first `count` of them, or all; nil if there are none.
    mutating func takeFirst(_ count: Int) -> [Machine.Proposal]? {
        guard count > 0, !self.proposals.isEmpty else { return nil }
        guard count < self.proposals.count else {
            self.limited = 0
            return exchange(&self.proposals, with: [])
        }
        let taken = Array(self.proposals[..<count])
        self.proposals.removeFirst(count)
        self.limited -= taken.count(where: \.isLimited)
        return taken
    }
}
