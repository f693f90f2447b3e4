/// The evaluated proposals that wait for the write-ahead log: the group that the log has, and the
/// next one, which gathers meanwhile.
///
/// A machine without a log has no groups; answers that must be given in order still gather here.
struct CommitGroups: Sendable {
    typealias Evaluated = EvaluatedProposal

    /// A group that was handed to the log.
    struct Group: Sendable {
        let evaluated: [Evaluated]
        /// What else is in it, of which nobody is told.
        let standing: StandingRecords
        /// Whether a change or an answer is in it.
        let hasMoves: Bool
        /// Whether anything is recorded for it.
        let hasRecords: Bool
        /// What the log has answered, or would have if it had anything to do; nil: nothing yet.
        var outcome: Recorded?
    }

    /// Whether the log confirms answers that change nothing.
    private let confirms: Bool

    private var gathering: [Evaluated] = []
    /// How many of these are no records.
    private var moves = 0
    /// What goes first in the next group, of which nobody is told.
    private var standing = StandingRecords()
    /// Whether the last group has failed: then what nobody is told of goes with the next group that is made for
    /// somebody, and makes none by itself.
    private var isFailing = false
    /// The group that the log has, or has answered; nil: the log is free.
    private var group: Group?
    /// How many groups the log has been given so far.
    private(set) var count: UInt64 = 0
    /// Whether one of those that gather may have been withdrawn.
    var haveWithdrawn = false
    /// Whether more is about to come that the next group is to include.
    var isGathering = false

    init(confirming confirms: Bool = false) { self.confirms = confirms }

    /// Proposals in one group; the rest gather for the next, as does what the log has no room for.
    ///
    /// 1024: bounds what fails together with the log. Not tuned.
    static var limit: Int { 1024 }

    /// Proposals that make a group even while more is awaited.
    ///
    /// 128: half of what one client of the server may have undecided, so that the other half is
    /// evaluated while these are committed. Measured on two processors with eight clients: a fifth
    /// more sets per second than with 32 or with 256. On a single processor nothing happens
    /// meanwhile, and the larger the group, the less each proposal costs.
    static var gatheredLimit: Int { Processors.areSeveral ? 128 : self.limit }

    /// How many more the next group takes.
    var room: Int { Self.limit - self.gathering.count }

    /// Whether `pending` proposals are left until the turn that is about to bring more has ended,
    /// so that all of them are evaluated in one go.
    func areAwaitingMore(with pending: Int) -> Bool {
        let gathered = self.group == nil ? self.gathering.count : 0
        return self.isGathering && pending + gathered < Self.gatheredLimit
    }

    /// The number of the group that the log has and has not answered; nil if there is none.
    var underWay: UInt64? { self.group.flatMap { $0.outcome == nil ? self.count : nil } }

    /// Whether no change is on its way to the log, and no answer that waits for one; records of voters do not count, or
    /// a client that renews its own would keep every question from being put.
    var areQuiet: Bool { self.group?.hasMoves != true && self.moves == 0 }

    /// Where the machine will be when the log has committed what it has and what gathers; nil: where it is.
    var ahead: Place? {
        let last: ([Evaluated]) -> Place? = { $0.last { $0.place != nil }?.place }
        return last(self.gathering) ?? self.group.flatMap { last($0.evaluated) }
    }

    /// Whether what changes nothing can be answered without the log.
    func mayAnswer(_ one: Evaluated) -> Bool { self.areQuiet && !self.isConfirmed(one) }

    /// Whether the log has to commit or to confirm it.
    private func asksLog(_ one: Evaluated) -> Bool { one.isForLog || self.isConfirmed(one) }

    /// Whether the log has to confirm it.
    private func isConfirmed(_ one: Evaluated) -> Bool { self.confirms && one.saysWhatIs }

    mutating func gather(_ evaluated: [Evaluated]) {
        self.moves += evaluated.count { !$0.isRecord }
        // Taken as it is where possible: appending counts a reference for each.
        if self.gathering.isEmpty {
            self.gathering = evaluated
        } else {
            self.gathering.append(contentsOf: evaluated)
        }
    }

    /// Takes those that were withdrawn while they gathered; nil if there are none.
    ///
    /// - Returns: them, and those to evaluate again: all that were evaluated after the first of them,
    ///   and so may count on it.
    mutating func takeWithdrawn() -> (withdrawn: [Machine.Proposal], again: [Machine.Proposal])? {
        guard exchange(&self.haveWithdrawn, with: false),
            let first = self.gathering.firstIndex(where: { !$0.proposal.isStillWanted })
        else { return nil }
        let proposals = self.gathering[first...].map(\.proposal)
        self.gathering.removeSubrange(first...)
        self.moves = self.gathering.count { !$0.isRecord }
        return (proposals.filter { !$0.isStillWanted }, proposals.filter(\.isStillWanted))
    }

    /// Makes a group of what has gathered, if the log is free and nothing more is awaited.
    ///
    /// - Returns: what to give to the log, if the group is under way then; else it had nothing to do, and the group has
    ///   ended. Nil if there is no group.
    mutating func begin() -> [Record]? {
        guard self.group == nil,
            !self.gathering.isEmpty || !self.standing.isEmpty && !self.isFailing,
            !self.isGathering || self.gathering.count >= Self.gatheredLimit
        else { return nil }
        let evaluated = exchange(&self.gathering, with: [])
        // What changes nothing needs no disk, and takes nothing along.
        let takesNone = self.isFailing && !evaluated.contains { $0.isForLog }
        let standing = takesNone ? StandingRecords() : self.standing.take()
        var records = standing.all
        records.reserveCapacity(records.count + evaluated.count)
        for one in evaluated { one.add(to: &records) }
        let isForLog = !records.isEmpty || self.confirms && evaluated.contains(where: \.saysWhatIs)
        self.group = Group(
            evaluated: evaluated,
            standing: standing,
            hasMoves: exchange(&self.moves, with: 0) > 0,
            hasRecords: !records.isEmpty,
            outcome: isForLog ? nil : .committed
        )
        if isForLog { self.count += 1 }
        return records
    }

    /// Leaves to the next group what the log has no room for; at least one record stays, or what belongs together.
    ///
    /// - Parameter room: how many records the log takes.
    /// - Returns: what to give to it.
    mutating func shorten(to room: Int) -> [Record] {
        guard let whole = self.group else { return [] }
        var standing = whole.standing
        let rest = standing.takeRest(after: max(room, 1))
        var records = standing.all
        let kept = whole.evaluated.prefix { one in
            // What nobody is told of goes first, all of it.
            guard rest.isEmpty else { return false }
            let before = records.count
            one.add(to: &records)
            if records.count <= room || before == 0 { return true }
            records.removeSubrange(before...)
            return false
        }
        let left = whole.evaluated[kept.count...]
        self.standing.putBack(rest)
        self.gathering.insert(contentsOf: left, at: 0)
        self.moves += left.count { !$0.isRecord }
        self.group = Group(
            evaluated: Array(kept),
            standing: standing,
            hasMoves: kept.contains { !$0.isRecord },
            hasRecords: true,
            outcome: nil
        )
        return records
    }

    /// Has what nobody is told of make a group by itself again, though the last group has failed.
    mutating func tryAgain() { self.isFailing = false }

    /// Has something recorded first in the next group, in place of what is there of the same.
    mutating func note(_ record: Record) { self.standing.note(record) }

    /// Takes those that gather for which the log would be asked for anything, and those behind the first of them, which
    /// may count on it and are to be evaluated again.
    mutating func takeForLog() -> (taken: [Machine.Proposal], again: [Machine.Proposal]) {
        guard let first = self.gathering.firstIndex(where: { self.asksLog($0) }) else {
            return ([], [])
        }
        let behind = self.gathering[first...]
        let taken = behind.filter { self.asksLog($0) }.map(\.proposal)
        let again = behind.filter { !self.asksLog($0) }.map(\.proposal)
        self.gathering.removeSubrange(first...)
        self.moves = self.gathering.count { !$0.isRecord }
        return (taken, again)
    }

    /// Takes all that gathers, to be evaluated again.
    mutating func takeGathering() -> [Machine.Proposal] {
        self.moves = 0
        return exchange(&self.gathering, with: []).map(\.proposal)
    }

    /// Notes the log's answer to the group of that number.
    mutating func recorded(_ number: UInt64, _ outcome: Recorded) {
        guard number == self.underWay else {
            preconditionFailure(
                "the write-ahead log called `done` twice for one group; call it once"
            )
        }
        self.group?.outcome = outcome
    }

    /// Takes the group that has ended and decides what becomes of it; nil if none has.
    ///
    /// - Parameter machine: where the machine is.
    /// - Returns: the proposals whose proposers to tell, and those to evaluate again.
    mutating func takeEnded(at machine: Place) -> (told: [Evaluated], again: [Machine.Proposal])? {
        guard let group, let outcome = group.outcome else { return nil }
        self.group = nil
        let refusal: Refusal
        switch outcome {
        case .committed:
            if group.hasRecords { self.isFailing = false }
            return (group.evaluated, [])
        case .overtaken:
            self.standing.putBack(group.standing)
            return ([], group.evaluated.map(\.proposal) + self.takeGathering())
        case .failed(let why): refusal = .notCommitted(why: why)
        case .unsure(let why): refusal = .unsure(why: why)
        }
        self.standing.putBack(group.standing)
        if group.hasRecords { self.isFailing = true }
        return self.decided(group, refused: refusal, at: machine)
    }

    /// Decides what becomes of a group that could not be committed, and of what has gathered since.
    private mutating func decided(
        _ group: Group,
        refused refusal: Refusal,
        at machine: Place
    ) -> (told: [Evaluated], again: [Machine.Proposal]) {
        // Proposals for a state that the group would have led to fail with it; otherwise each would be tried again alone.
        // Others that were evaluated against such a state are evaluated again.
        let evaluated = group.evaluated
        let last = evaluated.last { $0.entry != nil }?.entry?.change.seq ?? machine.seq
        let answer = Gate.Answer.failure(Refused(refusal, current: machine))
        let all = evaluated + exchange(&self.gathering, with: [])
        self.moves = 0
        var told: [Evaluated] = []
        var again: [Machine.Proposal] = []
        for (index, one) in all.enumerated() {
            // What was to be confirmed beside a change is decided again without it.
            let isLost = group.hasRecords ? one.isForLog : self.isConfirmed(one)
            if index < evaluated.count && isLost || one.repeats(after: machine.seq, through: last) {
                told.append(Evaluated(one.proposal, .answered(answer)))
            } else {
                again.append(one.proposal)
            }
        }
        return (told, again)
    }
}

/// What is to be recorded and has nobody to tell, the newest of each subject.
///
/// A connection's end, a guard gone missing, a clock's correction, a declaration.
struct StandingRecords: Sendable {
    private var records: [Record.Subject: Record] = [:]
    /// The subjects, in the order in which they came.
    private var order: [Record.Subject] = []

    var isEmpty: Bool { self.records.isEmpty }

    /// All of them, in order.
    var all: [Record] { self.order.compactMap { self.records[$0] } }

    /// Adds one, in place of an older one of its subject.
    mutating func note(_ record: Record) {
        guard let subject = record.subject else { return }
        if self.records.updateValue(record, forKey: subject) == nil { self.order.append(subject) }
    }

    mutating func take() -> Self { exchange(&self, with: Self()) }

    /// Takes all but the first `count`.
    mutating func takeRest(after count: Int) -> Self {
        var rest = Self()
        for subject in self.order.dropFirst(count) {
            if let record = self.records.removeValue(forKey: subject) { rest.note(record) }
        }
        self.order.removeLast(rest.order.count)
        return rest
    }

    /// Adds what was taken, but for what a newer one is there of.
    mutating func putBack(_ taken: Self) {
        var all = taken
        for record in self.all { all.note(record) }
        self = all
    }
}
