/// What may happen next, as put to voters.
public struct Proposal<State: MachineState>: Equatable, Sendable {
    /// Where the machine is; the voter has heard of all that led there.
    public let current: Snapshot<State>
    /// The state that would be entered.
    public let proposed: State
    /// Why, in the words of whoever proposed it.
    public let cause: String?
    /// Who proposed it from outside the process; nil for the process itself.
    public let by: Peer?
}

extension Proposal: Hashable where State: Hashable {}

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

/// A question as put to one voter; it is answered once, now or later, from anywhere.
///
/// Releasing it unanswered abstains, so a voter that is gone is not waited for.
package final class Ask<State: MachineState>: Sendable {
    /// What is asked about.
    package let proposal: Proposal<State>

    private let ballot: Ballot<State>
    private let voter: ObjectIdentifier

    init(ballot: Ballot<State>, voter: ObjectIdentifier) {
        self.proposal = ballot.proposal
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

    deinit { self.ballot.release(self.voter) }
}

/// A voter's place in a lane, its terms, and the closure to call.
///
/// `@unchecked Sendable`: `body` is released once, when no call runs and none will begin.
@usableFromInline
final class VoterMember<State: MachineState>: Member<State>, @unchecked Sendable {
    struct Terms: Sendable {
        var label: String
        var peer: Peer?
        var deadline: VoteDeadline?
        /// What its silence counts as when the question sets the time limit; nil: what the question
        /// says.
        var whenSilent: Vote?
    }

    let terms: Terms
    let isAsked: @Sendable (Proposal<State>) -> Bool
    @exclusivity(unchecked) private var body: (@Sendable (Ask<State>) -> Void)?

    init(
        _ terms: Terms,
        isAsked: @escaping @Sendable (Proposal<State>) -> Bool,
        body: @escaping @Sendable (Ask<State>) -> Void
    ) {
        self.terms = terms
        self.isAsked = isAsked
        self.body = body
    }

    override func receive(_ ballot: Ballot<State>) {
        guard ballot.asks(self), let body = self.body else { return }
        body(Ask(ballot: ballot, voter: ObjectIdentifier(self)))
    }

    override var isAudience: Bool { false }

    override func letGo() { self.body = nil }
}
