/// A voter's answer.
public enum Vote: Hashable, Sendable {
    /// It may happen.
    case yes
    /// It may not, and why.
    case no(String)
    /// The others may decide.
    case abstain
}

extension Vote {
    /// One voter's no.
    public struct Denial: Hashable, Sendable {
        /// The voter's name, given when it was added.
        public let label: String
        /// What a client's voter was asked for as; nil for one of the process itself.
        package let claim: Claim?
        /// On whose behalf it votes, if not the process itself.
        package let peer: Peer?
        /// The host where it was asked for, if that is another one that shares the machine.
        public let host: String?
        /// Its reason; that may be that its silence counts as a no.
        public let why: String

        /// The number of the client's hold or guard that says no; nil for a voter of the process itself.
        public var number: UInt64? { self.claim.flatMap(\.number) }

        /// A no with that reason.
        package init(
            label: String,
            claim: Claim? = nil,
            peer: Peer? = nil,
            at host: String? = nil,
            why: String
        ) {
            self.label = label
            self.claim = claim
            self.peer = peer
            self.host = host
            self.why = why
        }

        /// The no of a client's voter, perhaps one of another host.
        package init(_ claim: Claim, peer: Peer, at host: String? = nil, why: String) {
            self.init(label: claim.label(at: host), claim: claim, peer: peer, at: host, why: why)
        }

        /// The answer to a question whose asking task has been cancelled.
        package static let withdrawn = Denial(label: "asker", why: "withdrawn")
    }

    /// What a no comes from: what a client has asked for that votes for it, and its number, or what a state requires.
    package enum Claim: Hashable, Sendable {
        case hold(UInt64)
        case `guard`(UInt64)
        /// A link of that name, and a machine that is not as a state requires it to be.
        case link(String)

        package var number: UInt64? {
            switch self {
            case .hold(let number), .guard(let number): number
            case .link: nil
            }
        }

        /// As people read it: `hold 7`.
        package var label: String {
            switch self {
            case .hold(let number): "hold \(number)"
            case .guard(let number): "guard \(number)"
            case .link(let name): "link \(name)"
            }
        }

        /// The same of another host's: `hold 7 at b`.
        func label(at host: String?) -> String {
            host.map { "\(self.label) at \($0)" } ?? self.label
        }
    }
}

/// What voters have decided.
enum Verdict: Hashable, Sendable {
    /// It may happen.
    case yes
    /// It may not; the denials, none if a yes was needed and none came.
    case no([Vote.Denial])

    /// The denials; none if it may happen.
    var denials: [Vote.Denial] {
        switch self {
        case .yes: []
        case .no([]): [Vote.Denial(label: "nobody", why: "no voter agreed")]
        case .no(let denials): denials
        }
    }
}

/// How a question is put and its votes are counted.
public struct Question: Sendable {
    /// Whether any yes suffices, at once, and without one the answer is no; else any no refuses, at once, and without
    /// one the answer is yes.
    let needsYes: Bool
    let deadline: Duration?
    let whenSilent: Vote
    let whenNobodyVotes: Vote

    /// Any no refuses, at once; silence for a second counts as consent, and so do abstentions by
    /// all.
    ///
    /// - Parameters:
    ///   - needsYes: whether instead any yes suffices, at once, and without one the answer is no.
    ///   - deadline: how long to wait for a voter that sets no limit of its own; nil: until it
    ///     votes or vanishes.
    ///   - whenSilent: what such a voter's silence counts as after that.
    ///   - whenNobodyVotes: the answer if nobody is asked, or all abstain.
    public init(
        needingYes needsYes: Bool = false,
        deadline: Duration? = .seconds(1),
        whenSilent: Vote = .yes,
        whenNobodyVotes: Vote = .yes
    ) {
        self.needsYes = needsYes
        self.deadline = deadline
        self.whenSilent = whenSilent
        self.whenNobodyVotes = whenNobodyVotes
    }
}

extension Question {
    /// The denials if there is nobody to ask; nil if that is consent.
    var denialsWithoutVoters: [Vote.Denial]? {
        switch self.whenNobodyVotes {
        case .yes, .abstain: nil
        case .no(let why): [Vote.Denial(label: "nobody", why: why)]
        }
    }
}

/// Counts the votes on one question: a state machine that takes events and answers with the
/// verdict, once.
struct VoteTally {
    struct Voter {
        var label: String
        var claim: Vote.Claim?
        var peer: Peer?
        var host: String?
        var whenSilent: Vote
    }

    private let question: Question
    /// Those who have not voted, by number.
    private var awaited: [UInt64: Voter]
    private var denials: [Vote.Denial] = []
    private var consents = 0
    private(set) var isOpen = true
    private var isWithdrawn = false

    init(_ question: Question, voters: [UInt64: Voter]) {
        self.question = question
        self.awaited = voters
    }

    /// For a question that has nobody to ask.
    mutating func begun() -> Verdict? { self.verdict() }

    /// More are asked, also once it has been decided: that does not count yet.
    ///
    /// - Returns: the verdict, if it is decided all the same.
    mutating func joined(_ voters: [UInt64: Voter]) -> Verdict? {
        guard !self.isWithdrawn else { return .no([.withdrawn]) }
        self.isOpen = true
        self.awaited.merge(voters) { asked, _ in asked }
        return self.verdict()
    }

    func awaits(_ voter: UInt64) -> Bool { self.isOpen && self.awaited[voter] != nil }

    /// Counts a vote; nil: the voter's time is up, and its silence counts as its terms say.
    ///
    /// - Returns: whether the vote counts, and the verdict if it is the deciding one.
    mutating func voted(_ vote: Vote?, by voter: UInt64) -> (counts: Bool, Verdict?) {
        guard self.isOpen, let terms = self.awaited.removeValue(forKey: voter) else {
            return (false, nil)
        }
        self.count(vote ?? terms.whenSilent, of: terms)
        return (true, self.verdict())
    }

    /// The asker no longer wants to know.
    mutating func withdrawn() -> Verdict? {
        guard self.isOpen else { return nil }
        (self.isOpen, self.isWithdrawn) = (false, true)
        return .no([.withdrawn])
    }

    private mutating func count(_ vote: Vote, of voter: Voter) {
        switch vote {
        case .yes: self.consents += 1
        case .no(let why):
            self.denials.append(
                Vote.Denial(
                    label: voter.label,
                    claim: voter.claim,
                    peer: voter.peer,
                    at: voter.host,
                    why: why
                )
            )
        case .abstain: break
        }
    }

    private mutating func verdict() -> Verdict? {
        guard self.isOpen, let verdict = self.decision else { return nil }
        self.isOpen = false
        return verdict
    }

    private var decision: Verdict? {
        let isComplete = self.awaited.isEmpty
        let isUnanswered = self.consents == 0 && self.denials.isEmpty
        if isComplete && isUnanswered {
            return self.question.denialsWithoutVoters.map { .no($0) } ?? .yes
        }
        guard self.question.needsYes else {
            if !self.denials.isEmpty { return .no(self.denials) }
            return isComplete ? .yes : nil
        }
        if self.consents > 0 { return .yes }
        return isComplete ? .no(self.denials) : nil
    }
}
