import StateMachineCore
import StateMachineProtocol

/// A client's hold or guard: its place among the machine's voters, and what it covers.
///
/// `@unchecked Sendable`: everything but `let`s is touched on the event loop only; the machine asks it
/// there. The gate finds out on any thread what it covers, by `covered`, which is behind a lock.
final class SocketVoter: @unchecked Sendable {
    /// Where its client is.
    private enum Client {
        /// On a connection.
        case here(HoldsAndGuards)
        /// Not here yet: of the last run.
        case away
        /// Nowhere, and it needs none: a hold of a name, what denies for a guard that is missing, and what has ended.
        case none
    }

    /// As it is recorded.
    let record: KeptVoter
    let why: String?

    /// What it does about a proposal of a state that it covers.
    let terms: VoterTerms

    /// All of the server's, who say whether its time is over.
    private weak var all: Voters?

    private var client: Client
    /// What a connection's guard is asked; nil of all others.
    private(set) var inbox: GuardInbox?
    /// A question that waits for its end, or for its client's return.
    private var postponed: Ask?

    /// The states whose proposals it votes on, by the requested patterns, under the names of the declaration in force.
    private(set) var patterns: PatternList
    /// Whether no state of the declaration in force can ever match, so that it has no effect.
    private(set) var isVoid: Bool
    /// The same, and while another declaration may come into force also under its names: what the gate goes by.
    private let covered: Lock<[PatternList]>
    /// What says which states they match, whatever is in force.
    private let schema: Schema

    var number: UInt64 { self.record.number }
    var peer: Peer { self.record.peer }
    /// The name that it is required as, or that it is held as; nil if it has none.
    var name: String? { self.record.name }

    /// Whether it stands in for one of the last run, whose client is not here yet.
    var isAway: Bool { if case .away = self.client { true } else { false } }
    /// The connection's, which sends its questions; nil if it belongs to none.
    var owner: HoldsAndGuards? {
        if case .here(let owner) = self.client { owner } else { nil }
    }

    /// What it is called in the machine.
    var claim: Vote.Claim { self.terms.claim(self.number) }

    private var registration: Registration?

    /// One of a connection, whose request of that id asked for it.
    convenience init(
        _ record: KeptVoter,
        _ asked: VoterRequest,
        id: RequestID?,
        of owner: HoldsAndGuards,
        among all: Voters,
        matching schema: Schema
    ) {
        self.init(record, asked, .here(owner), among: all, matching: schema)
        if !asked.terms.isHold { self.inbox = GuardInbox(requestID: id) }
    }

    /// One that belongs to no connection: a hold of a name, or what denies for a required guard that is missing, or for
    /// whatever the last run has left.
    convenience init(
        standingFor record: KeptVoter,
        _ asked: VoterRequest,
        among all: Voters,
        matching schema: Schema
    ) {
        let client = record.name == nil ? Client.away : .none
        self.init(record, asked, client, among: all, matching: schema)
    }

    /// `all` is the server's ``StateServer/voters``, `schema` its ``StateServer/states``.
    private init(
        _ record: KeptVoter,
        _ asked: VoterRequest,
        _ client: Client,
        among all: Voters,
        matching schema: Schema
    ) {
        self.record = record
        self.client = client
        self.all = all
        self.why = asked.why
        self.patterns = asked.before
        self.covered = Lock([asked.before])
        // The file may be another than when it was asked for.
        self.isVoid = all.schema.objection(to: asked.before) != nil
        self.schema = schema
        self.terms = record.missing.map { .missing(since: $0) } ?? asked.terms
    }

    /// Its denial of what it denies at once.
    var denial: Vote.Denial {
        Vote.Denial(self.claim, peer: self.peer, why: self.blockingWhy)
    }

    /// Whether it has a say in every new stay in the state of that name, whatever that carries.
    func isConcerned(byAny state: String) -> Bool {
        self.covered.withLock { $0 }.contains { $0.containsAll(of: state) }
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
    func isConcerned(by motion: Motion) -> Bool {
        // Nothing is called under the lock.
        let lists = self.covered.withLock { $0 }
        return lists.contains { self.schema.concerns($0, motion) }
    }

    /// Where states are found that the patterns match; nil: anywhere.
    private static func buckets(of lists: [PatternList]) -> Set<Bucket>? {
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
        self.isVoid = schema.objection(to: self.patterns) != nil
        self.cover([self.patterns])
    }

    // MARK: - Questions

    private func asked(_ question: Ask) {
        switch (self.terms, self.client) {
        case (.block, _), (.missing, _):
            let isOver = self.record.until.flatMap { self.all?.isOver($0) } ?? false
            question.vote(isOver ? .yes : .no(self.blockingWhy))
        case (.ask, .here(let owner)):
            self.inbox?.put(question, number: owner.nextNumber())
            owner.scheduleQuestions()
        case (.delay, _), (.ask, .away), (.ask, .none): self.postponed = question
        }
    }

    /// Another host asks.
    ///
    /// - Returns: what was asked; nil if this is no guard, or its client is not here: then its silence counts.
    func asked(_ question: ForeignQuestion, by engine: any MachineSharing) -> ForeignAsk? {
        guard case .ask(let timeoutMs, _) = self.terms, case .here(let owner) = self.client else {
            return nil
        }
        let ask = ForeignAsk(
            question,
            to: self.number,
            within: .milliseconds(timeoutMs),
            by: engine
        )
        self.inbox?.put(ask, number: owner.nextNumber())
        owner.scheduleQuestions()
        return ask
    }

    /// Whether it has a question to answer, or one that waits for its client.
    var isAsked: Bool { self.inbox?.isAsked ?? self.postponed?.isAwaited ?? false }

    /// Answers its question; false if that was decided without it.
    func vote(_ call: VoteCall) -> Bool {
        let vote: Vote = call.allow ? .yes : .no(call.why ?? self.why ?? "")
        return self.inbox?.vote(vote, on: call.ask) ?? false
    }

    /// Ends it; in an open question that is its vote.
    func end(voting vote: Vote = .abstain) {
        // The machine may have it for a while.
        self.client = .none
        self.registration?.cancel(voting: vote)
        self.registration = nil
        self.postponed = nil
        self.inbox?.close()
    }
}
