/// How long a voter is waited for.
package struct VoteDeadline: Hashable, Sendable {
    /// When the waiting begins.
    package enum Beginning: Hashable, Sendable {
        /// When the voter is asked.
        case fromAsking
        /// When the proposal was made, however long it waited its turn.
        case fromArrival
    }

    /// How long; nil: until the voter votes or vanishes.
    package var limit: Duration?
    /// What silence counts as after that.
    package var whenSilent: Vote
    /// When the waiting begins.
    package var counting: Beginning

    /// Waits that long.
    package init(
        limit: Duration?,
        whenSilent: Vote,
        counting: Beginning = .fromAsking
    ) {
        self.limit = limit
        self.whenSilent = whenSilent
        self.counting = counting
    }

    /// A delay: the voter postpones the proposal until it votes, but for at most that long.
    package static func postponing(atMost limit: Duration) -> VoteDeadline {
        VoteDeadline(limit: limit, whenSilent: .yes, counting: .fromArrival)
    }
}

extension Machine {
    /// Who a voter is, and for how long it is waited for.
    package struct Voter: Sendable {
        /// Its name when it says no.
        let label: String
        /// On whose behalf it votes, if not the process itself.
        let peer: Peer?
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
            self.peer = peer
            self.deadline = deadline
            self.whenSilent = whenSilent
        }
    }
}

/// A question as put to one voter; it is answered once, now or later, from anywhere.
///
/// Releasing it unanswered abstains, so a voter that is gone is not waited for.
package final class Ask: Sendable {
    /// What is asked about.
    package let motion: Motion

    private let ballot: Ballot
    private let voter: ObjectIdentifier

    init(ballot: Ballot, voter: ObjectIdentifier) {
        self.motion = ballot.motion
        self.ballot = ballot
        self.voter = voter
    }

    /// Answers.
    ///
    /// If this decides the question, the state has been assigned when it returns, unless
    /// a log commits it first.
    ///
    /// - Returns: whether the vote counts; a second or late one does not.
    @discardableResult
    package func vote(_ vote: Vote) -> Bool { self.ballot.vote(vote, by: self.voter) }

    /// Whether the question waits for it.
    var isAwaited: Bool { self.ballot.awaits(self.voter) }

    deinit { self.ballot.release(self.voter) }
}

/// A voter's place in a drain, its terms, and the closure to call.
///
/// `@unchecked Sendable`: `body` is released once, when no call runs and none will begin; the machine's lock guards
/// `places` and `isListed`, which are the ``Electorate``'s own.
final class VoterMember: Member, @unchecked Sendable {
    let terms: Machine.Voter
    let isAsked: @Sendable (Motion) -> Bool
    private var body: (@Sendable (Ask) -> Void)?
    /// Where it stands among the voters; nil: it is asked about every motion.
    var places: Set<Int>?
    var isListed = false

    init(
        _ terms: Machine.Voter,
        at places: Set<Int>? = nil,
        isAsked: @escaping @Sendable (Motion) -> Bool,
        body: @escaping @Sendable (Ask) -> Void
    ) {
        self.terms = terms
        self.places = places
        self.isAsked = isAsked
        self.body = body
    }

    override func receive(_ ballot: Ballot) {
        guard ballot.asks(self), let body = self.body else { return }
        body(Ask(ballot: ballot, voter: ObjectIdentifier(self)))
    }

    override var isAudience: Bool { false }

    override var hearsChanges: Bool { false }

    override func letGo() { self.body = nil }
}
