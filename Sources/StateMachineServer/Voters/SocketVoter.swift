import StateMachineCore
import StateMachineProtocol

/// A client's hold or guard: its place among the machine's voters, on a connection or without one.
///
/// `@unchecked Sendable`: everything but `let`s is touched on the event loop only; the machine asks it
/// there. The gate finds out on any thread what it covers, by `covered`, which is behind a lock.
final class SocketVoter: @unchecked Sendable {
    /// As it is recorded.
    let record: KeptVoter
    let requestID: RequestID?
    let why: String?

    /// What it does about a proposal of a state that it covers.
    let terms: VoterTerms

    /// All of the server's, who say whether its time is over.
    private weak var all: Voters?

    /// The connection's, which sends its questions; nil if it belongs to none, or is asked no more.
    private(set) var owner: HoldsAndGuards?

    /// The question that it has not answered, and that question's number; nil if its client is not sent it.
    ///
    /// There is one at a time, since proposals are decided one at a time: a newer question means
    /// that the older one is closed. Letting go of the question is consent.
    private var question: (number: UInt64?, question: Ask)?

    /// How long the client has to answer `question`; nil once the question has been sent.
    ///
    /// Only the newest question is ever due, so none pile up for a client that does not read, and
    /// one that does read is never asked an older one instead.
    private var dueMs: UInt64?

    /// The votes in this process that were in time.
    private(set) var votes: (allowed: UInt64, denied: UInt64) = (0, 0)

    /// The states whose proposals it votes on, by the requested patterns, under the names of the declaration in force.
    private(set) var patterns: PatternList
    /// The same, and while another declaration may come into force also under its names: what the gate goes by.
    private let covered: Lock<[PatternList]>
    /// What says which states they match, whatever is in force.
    private let schema: Schema

    var number: UInt64 { self.record.number }
    var peer: Peer { self.record.peer }
    /// The name that it is required as, or that it is held as; nil if it has none.
    var name: String? { self.record.name }

    /// Whether it stands in for one of the last run, whose client is not here yet.
    var isAway: Bool { self.owner == nil && self.name == nil }

    /// False until its client has been answered: no question comes before that.
    var isGranted = true

    /// What it is called in the machine.
    var claim: Vote.Claim { self.terms.claim(self.number) }

    private var registration: Registration?

    /// One that does what was asked for; or denies, while nothing of its name is connected.
    ///
    /// `all` is the server's ``StateServer/voters``, `schema` its ``StateServer/states``.
    init(
        _ record: KeptVoter,
        _ asked: VoterRequest,
        id: RequestID? = nil,
        of owner: HoldsAndGuards? = nil,
        among all: Voters,
        matching schema: Schema
    ) {
        self.record = record
        self.requestID = id
        self.owner = owner
        self.all = all
        self.why = asked.why
        self.patterns = asked.before
        self.covered = Lock([asked.before])
        self.schema = schema
        self.terms = record.missing.map { .missing(since: $0) } ?? asked.terms
    }

    /// Its denial of a change that it denies at once; nil if it allows it, delays it or is asked about it.
    func denial(of motion: Motion) -> Vote.Denial? {
        guard self.terms.isBlocking, self.isConcerned(by: motion) else { return nil }
        return Vote.Denial(self.claim, peer: self.peer, why: self.blockingWhy)
    }

    /// The reason that a denial by a blocking voter gives.
    var blockingWhy: String {
        switch self.terms {
        case .block, .delay, .ask: self.why ?? "held"
        case .missing(let since):
            "required as \(self.name ?? "?") but not connected since \(since.rfc3339); "
                + "start it, or release it by that name"
        }
    }

    /// Has a say in that machine from now on, also in what others are being asked.
    ///
    /// - Parameters:
    ///   - server: whose machine it is.
    ///   - succeeds: whether it takes the place of one whose client was away.
    func begin(in server: StateServer, succeeding succeeds: Bool = false) {
        // It is not asked about what came before it in this turn.
        server.machine.endGathering()
        self.registration = server.machine.addVoter(
            Machine.Voter(
                self.claim,
                peer: self.peer,
                deadline: self.isAway
                    ? self.terms.deadlineWhenAway : self.terms.deadline(succeeding: succeeds)
            ),
            on: EventLoopContext(server.loop),
            at: Self.buckets(of: self.covered.withLock { $0 }),
            before: { self.isConcerned(by: $0) },
            { self.asked($0) }
        )
    }

    // MARK: - What it covers

    /// Whether it has a say in a change: whether one of its patterns comes to match.
    ///
    /// Asked on any thread.
    private func isConcerned(by motion: Motion) -> Bool {
        // Nothing is called under the lock.
        let lists = self.covered.withLock { $0 }
        return lists.contains { self.schema.concerns($0, motion) }
    }

    /// Where states are found that the patterns match; nil: anywhere.
    private static func buckets(of lists: [PatternList]) -> Set<Int>? {
        lists.reduce([]) { all, list in all.flatMap { all in list.buckets.map(all.union) } }
    }

    /// Has these count from now on, at the gate too.
    private func cover(_ lists: [PatternList]) {
        self.covered.withLock { $0 = lists }
        self.registration?.move(to: Self.buckets(of: lists))
    }

    /// Makes the patterns apply under the names of the next declaration too.
    ///
    /// It may come into force at the gate at any moment, and no held state may slip through.
    func expect(_ next: Schema) {
        self.cover([self.patterns, next.resolvedAgain(self.patterns)])
    }

    /// Settles on the declaration that is in force.
    func settle(on schema: Schema) {
        self.patterns = schema.resolvedAgain(self.patterns)
        self.cover([self.patterns])
    }

    /// Whether no declared state can ever match.
    func isVoid(in schema: Schema) -> Bool { schema.objection(to: self.patterns) != nil }

    // MARK: - Questions

    private func asked(_ question: Ask) {
        switch self.terms {
        case .block, .missing:
            let isOver = self.record.until.flatMap { self.all?.isOver($0) } ?? false
            question.vote(isOver ? .yes : .no(self.blockingWhy))
        // A question that waits for the voter's end.
        case .delay: self.question = (nil, question)
        case .ask:
            guard let owner else {
                self.question = (nil, question)
                return
            }
            owner.put(question, to: self)
        }
    }

    /// Keeps a question until the client, which is yet to be sent it, has answered.
    func put(_ question: Ask, number: UInt64) {
        self.question = (number, question)
        self.dueMs = question.limit.map { UInt64($0 / .milliseconds(1)) } ?? 0
    }

    /// Whether it has a question that has not been sent, and may be: its client knows that it is there.
    var hasDue: Bool { self.isGranted && self.dueMs != nil }

    /// Takes the unsent question, which is sent now, even if it was decided meanwhile; nil if there is none.
    func takeDue() -> (number: UInt64, question: Ask, leftMs: UInt64)? {
        guard self.hasDue, let dueMs = self.dueMs.take(),
            let (number, question) = self.question, let number
        else { return nil }
        return (number, question, dueMs)
    }

    /// Whether it has a question to answer.
    var isAsked: Bool { self.question?.question.isAwaited ?? false }

    /// Whether its client has yet to answer the question of that number.
    func asks(_ number: UInt64) -> Bool { self.question?.number == number }

    /// Answers its question; false if that was decided without it.
    func vote(_ call: VoteCall) -> Bool {
        let vote: Vote = call.allow ? .yes : .no(call.why ?? self.why ?? "")
        self.dueMs = nil
        guard let (_, question) = self.question.take(), question.vote(vote) else { return false }
        if call.allow { self.votes.allowed += 1 } else { self.votes.denied += 1 }
        return true
    }

    /// Ends it; in an open question that is its vote.
    func end(voting vote: Vote = .abstain) {
        self.owner = nil
        self.registration?.cancel(voting: vote)
        self.registration = nil
        self.question = nil
        self.dueMs = nil
    }
}
