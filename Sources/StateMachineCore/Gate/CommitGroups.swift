/// The evaluated proposals that wait for the write-ahead log: the group that the log has, and the
/// next one, which gathers meanwhile.
///
/// A machine without a log has no groups; answers that must be given in order still gather here.
struct CommitGroups: Sendable {
    typealias Evaluated = EvaluatedProposal

    /// A group that was handed to the log.
    struct Group: Sendable {
        let evaluated: [Evaluated]
        /// Whether the log has answered, or had nothing to do.
        var hasEnded: Bool
        /// What the log has answered; nil: the group is durable.
        var failure: String?
    }

    private var gathering: [Evaluated] = []
    /// The group that the log has, or has answered; nil: the log is free.
    private var group: Group?
    /// How many groups the log has been given so far.
    private(set) var count: UInt64 = 0
    /// Whether one of those that gather may have been withdrawn.
    var haveWithdrawn = false
    /// Whether more is about to come that the next group is to include.
    var isGathering = false

    /// Proposals in one group; the rest gather for the next.
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
    var underWay: UInt64? { self.group?.hasEnded == false ? self.count : nil }

    /// Whether nothing is on its way to the log.
    var areQuiet: Bool { self.group == nil && self.gathering.isEmpty }

    /// The last transition that will have happened when the log has committed what it has and what
    /// gathers.
    var last: ChangeEntry? {
        let last: ([Evaluated]) -> ChangeEntry? = { $0.last { $0.entry != nil }?.entry }
        return last(self.gathering) ?? self.group.flatMap { last($0.evaluated) }
    }

    mutating func gather(_ evaluated: [Evaluated]) {
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
        return (proposals.filter { !$0.isStillWanted }, proposals.filter(\.isStillWanted))
    }

    /// Makes a group of what has gathered, if the log is free and nothing more is awaited.
    ///
    /// - Returns: the transitions to give to the log; empty if nothing in the group changes
    ///   anything, and then the group has ended. Nil if there is no group.
    mutating func begin() -> [Change]? {
        guard self.group == nil, !self.gathering.isEmpty,
            !self.isGathering || self.gathering.count >= Self.gatheredLimit
        else { return nil }
        let evaluated = exchange(&self.gathering, with: [])
        let transitions = evaluated.compactMap { $0.entry?.change }
        self.group = Group(evaluated: evaluated, hasEnded: transitions.isEmpty)
        if !transitions.isEmpty { self.count += 1 }
        return transitions
    }

    /// Ends the group of that number with the log's answer.
    mutating func end(_ number: UInt64, failure: String?) {
        guard number == self.underWay else {
            preconditionFailure(
                "the write-ahead log called `done` twice for one group; call it once"
            )
        }
        self.group?.hasEnded = true
        self.group?.failure = failure
    }

    /// Takes the group that has ended and decides what becomes of it; nil if none has.
    ///
    /// - Parameter machine: where the machine is.
    /// - Returns: the proposals whose proposers to tell, and those to evaluate again.
    mutating func takeEnded(at machine: Place) -> (told: [Evaluated], again: [Machine.Proposal])? {
        guard let group, group.hasEnded else { return nil }
        self.group = nil
        guard let failure = group.failure else { return (group.evaluated, []) }
        return self.decided(group.evaluated, failing: failure, at: machine)
    }

    /// Decides what becomes of a group that could not be committed, and of what has gathered since.
    private mutating func decided(
        _ evaluated: [Evaluated],
        failing failure: String,
        at machine: Place
    ) -> (told: [Evaluated], again: [Machine.Proposal]) {
        // Proposals for a state that the group would have led to fail with it; otherwise each would be tried again alone.
        // Others that were evaluated against such a state are evaluated again.
        let last = evaluated.last { $0.entry != nil }?.entry?.change.seq ?? machine.seq
        let answer = Gate.Answer.failure(Refused(.notCommitted(why: failure), current: machine))
        let all = evaluated + exchange(&self.gathering, with: [])
        var told: [Evaluated] = []
        var again: [Machine.Proposal] = []
        for (index, one) in all.enumerated() {
            let isInGroup = index < evaluated.count && one.entry != nil
            if isInGroup || one.repeats(after: machine.seq, through: last) {
                told.append(Evaluated(one.proposal, .answered(answer)))
            } else {
                again.append(one.proposal)
            }
        }
        return (told, again)
    }
}
