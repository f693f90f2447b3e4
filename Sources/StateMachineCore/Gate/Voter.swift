/// How long a voter is waited for.
package struct VoteDeadline: Hashable, Sendable {
    /// From when on the time counts.
    package enum Start: Hashable, Sendable {
        /// The proposal was made, however long it waits its turn.
        case proposal
        /// The question was put, be it to others.
        case question
        /// The voter is asked.
        case asking
    }

    /// How long; nil: until the voter votes or vanishes.
    let limit: Duration?
    /// What silence counts as after that.
    let whenSilent: Vote
    let start: Start

    /// Waits that long.
    package init(limit: Duration?, whenSilent: Vote, from start: Start = .question) {
        self.limit = limit
        self.whenSilent = whenSilent
        self.start = start
    }
}

/// For how long a question has been waited for.
struct QuestionAge: Sendable {
    /// Since its proposal was made, if that counts.
    var sinceProposal = Duration.zero
    /// Since it was put.
    var sinceQuestion = Duration.zero

    /// How long a voter is waited for that is asked now; nil: until it votes or vanishes.
    func limit(of voter: Machine.Voter, under question: Question) -> Duration? {
        guard let deadline = voter.deadline else {
            return question.deadline.map { max(.zero, $0 - self.sinceQuestion) }
        }
        let gone =
            switch deadline.start {
            case .proposal: self.sinceProposal
            case .question: self.sinceQuestion
            case .asking: Duration.zero
            }
        return deadline.limit.map { max(.zero, $0 - gone) }
    }
}

extension Machine {
    /// Who a voter is, and for how long it is waited for.
    package struct Voter: Sendable {
        /// Its name when it says no.
        let label: String
        /// What a client has asked for, if it is a client's.
        package let claim: Vote.Claim?
        /// On whose behalf it votes, if not the process itself.
        let peer: Peer?
        /// The host where it was asked for, if that is another one that shares the machine.
        package let host: String?
        /// How long it is waited for; nil: as long as the question says.
        let deadline: VoteDeadline?
        /// What its silence counts as when the question sets the time limit; nil: what the question
        /// says.
        let whenSilent: Vote?

        package init(
            label: String,
            peer: Peer? = nil,
            deadline: VoteDeadline? = nil,
            whenSilent: Vote? = nil
        ) {
            self.label = label
            self.claim = nil
            self.peer = peer
            self.host = nil
            self.deadline = deadline
            self.whenSilent = whenSilent
        }

        /// One of a client's, perhaps at another host.
        package init(
            _ claim: Vote.Claim,
            peer: Peer,
            at host: String? = nil,
            deadline: VoteDeadline?
        ) {
            self.label = claim.label(at: host)
            self.claim = claim
            self.peer = peer
            self.host = host
            self.deadline = deadline
            self.whenSilent = nil
        }
    }
}

/// A voter's place in a drain, its terms, and the closure to call.
///
/// `@unchecked Sendable`: `body` is released once, when no call runs and none will begin; the machine's lock guards
/// `buckets` and `isListed`, which are the ``Electorate``'s own, and `lastVote`.
final class VoterMember: Member, @unchecked Sendable {
    let terms: Machine.Voter
    let isAsked: @Sendable (Motion) -> Bool
    private var body: (@Sendable (Ask) -> Void)?
    /// Where it stands among the voters; nil: it is asked about every motion.
    var buckets: Set<Bucket>?
    var isListed = false
    /// What its going counts as in a question that is open.
    var lastVote = Vote.abstain

    init(
        _ terms: Machine.Voter,
        at buckets: Set<Bucket>? = nil,
        isAsked: @escaping @Sendable (Motion) -> Bool,
        body: @escaping @Sendable (Ask) -> Void
    ) {
        self.terms = terms
        self.buckets = buckets
        self.isAsked = isAsked
        self.body = body
    }

    override func receive(_ question: QuestionEntry) {
        guard question.asked.contains(self.number), let body = self.body else { return }
        body(Ask(question, to: self))
    }

    override var isAudience: Bool { false }

    override var hearsChanges: Bool { false }

    override func letGo() { self.body = nil }
}
