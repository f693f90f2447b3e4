import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The holds and guards of one connection: voters of the machine that live as long as the client's side of it.
///
/// Belongs to the event loop.
final class HoldsAndGuards {
    private let server: StateServer
    let peer: Peer
    private let outbox: Outbox
    private let kept: KeptRequests
    /// Answers that come once something is kept.
    private let late: LateReplies

    private var holds: [SocketVoter] = [] {
        didSet { self.countRequests() }
    }
    @exclusivity(unchecked) private var guards: [SocketVoter] = [] {
        didSet { self.countRequests() }
    }
    /// Bytes of the requests that asked for them.
    private var requestBytes = 0 {
        didSet { self.kept.change(by: self.requestBytes - oldValue) }
    }

    init(
        server: StateServer,
        peer: Peer,
        outbox: Outbox,
        kept: KeptRequests,
        late: LateReplies
    ) {
        self.late = late
        self.server = server
        self.peer = peer
        self.outbox = outbox
        self.kept = kept
    }

    private func countRequests() {
        var bytes = 0
        for hold in self.holds { bytes += hold.request.count }
        for voter in self.guards { bytes += voter.request.count }
        self.requestBytes = bytes
    }

    // MARK: - Requests

    func hold(_ call: HoldCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        let limit = self.server.limits.holdsPerConnection
        try self.kept.checkRoom("holds", self.holds.count, of: limit)
        let number = self.server.nextNumber()
        try self.place(call, id: id, line, number: number)
        self.outbox.reply(ServerLine.reply(id: id, own: { $0.number("hold", number) }))
    }

    /// Puts a hold in its place among the voters.
    private func place(
        _ call: HoldCall,
        id: RequestID?,
        _ line: [UInt8],
        number: UInt64,
        since: WallTime = .now
    ) throws(WireError) {
        let deadline: VoteDeadline
        let terms: SocketVoter.Terms
        switch call.effect {
        case .block: (deadline, terms) = (VoteDeadline(limit: nil, whenSilent: .yes), .block)
        case .delay(let maxMs):
            deadline = .postponing(atMost: .milliseconds(maxMs))
            terms = .delay(maxMs: maxMs)
        }
        let hold = try self.makeVoter(
            number,
            id: id,
            why: call.why,
            before: call.before,
            terms,
            since: since,
            line
        )
        try self.register(hold, .hold(hold.number), deadline) { question in
            switch call.effect {
            case .block: _ = question.vote(.no(hold.blockingWhy))
            case .delay: hold.question = (0, question)
            }
        }
        self.holds.append(hold)
        self.server.voters[hold.number] = self
    }

    func `guard`(_ call: GuardCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        let limit = self.server.limits.guardsPerConnection
        try self.kept.checkRoom("guards", self.guards.count, of: limit)
        if let name = call.required { try self.server.requirements.check(name, by: self.peer) }
        let number = self.server.nextNumber()
        let voter = try self.place(call, id: id, line, number: number)
        let reply = ServerLine.reply(id: id, own: { $0.number("guard", number) })
        guard call.required != nil else { return self.outbox.reply(reply) }
        let place = self.late.begin(reply)
        self.server.requirements.connected(voter) { failure in
            // What is not kept is not there.
            if failure != nil { self.end(number) }
            self.late.end(place, failure) {
                ServerLine.refusal(
                    id: id,
                    WireError(.internal, "that the guard is required could not be written: \($0)")
                )
            }
        }
    }

    /// Puts a guard in its place among the voters.
    private func place(
        _ call: GuardCall,
        id: RequestID?,
        _ line: [UInt8],
        number: UInt64,
        since: WallTime = .now
    ) throws(WireError) -> SocketVoter {
        let deadline = VoteDeadline(
            limit: .milliseconds(call.deadlineMs),
            whenSilent: call.allowsOnTimeout ? .yes : .no("timeout")
        )
        let voter = try self.makeVoter(
            number,
            id: id,
            why: call.why,
            before: call.before,
            .ask(timeoutMs: call.deadlineMs, allowsOnTimeout: call.allowsOnTimeout),
            required: call.required,
            since: since,
            line
        )
        let voters = NIOLoopBound(self, eventLoop: self.server.loop)
        try self.register(voter, .guard(voter.number), deadline) { question in
            voters.value.put(question, to: voter, leftMs: call.deadlineMs)
        }
        self.guards.append(voter)
        self.server.voters[voter.number] = self
        return voter
    }

    /// The states are about to be declared anew.
    func expect(_ next: StateSchema) {
        for voter in self.holds + self.guards { voter.patterns.expect(next) }
    }

    /// The states are declared anew, or not after all.
    func redeclared() {
        let schema = self.server.machine.schema
        for voter in self.holds + self.guards { voter.patterns.settle(on: schema) }
    }

    /// The holds and guards that no state can concern any more.
    var void: [SocketVoter] {
        let schema = self.server.machine.schema
        return (self.holds + self.guards).filter { $0.patterns.areVoid(in: schema) }
    }

    func vote(_ call: VoteCall, id: RequestID?) throws(WireError) {
        let voter = self.guards.first { $0.question?.number == call.ask }
        let vote: Vote = call.allow ? .yes : .no(call.why ?? voter?.why ?? "")
        guard let (_, question) = voter?.question else {
            throw WireError(.notFound, "question \(call.ask) is not open to this connection")
        }
        voter?.question = nil
        guard question.vote(vote) else {
            throw WireError(.notFound, "question \(call.ask) was decided without this vote")
        }
        voter?.votes.count(allowing: call.allow)
        self.outbox.reply(ServerLine.reply(id: id))
    }

    private func makeVoter(
        _ number: UInt64,
        id: RequestID?,
        why: String?,
        before patterns: PatternList,
        _ terms: SocketVoter.Terms,
        required: String? = nil,
        since: WallTime,
        _ line: [UInt8]
    ) throws(WireError) -> SocketVoter {
        guard !self.outbox.isClosed else {
            throw WireError(.internal, "the connection is closed")
        }
        try self.kept.checkRoom(for: line)
        let voter = SocketVoter(
            number: number,
            requestID: id,
            peer: self.peer,
            why: why,
            before: patterns,
            terms: terms,
            required: required,
            since: since,
            request: line
        )
        if let next = self.server.nextSchema { voter.patterns.expect(next) }
        return voter
    }

    private func register(
        _ voter: SocketVoter,
        _ name: VoterName,
        _ deadline: VoteDeadline,
        _ body: @escaping @Sendable (Question) -> Void
    ) throws(WireError) {
        voter.begin(
            self.server.machine.addVoter(
                name,
                peer: self.peer,
                deadline: deadline,
                before: voter.patterns,
                body
            )
        )
    }

    // MARK: - Questions

    /// Has a guard sent its question, when all that is queued before it has been written.
    private func put(_ question: Question, to voter: SocketVoter, leftMs: UInt64) {
        voter.question = (self.server.nextNumber(), question)
        voter.dueMs = leftMs
        self.server.scheduleFlush()
    }

    /// Whether questions have not been sent.
    var hasQuestions: Bool { self.guards.contains { $0.dueMs != nil } }

    /// Writes the questions that have not been sent, as far as the socket takes them.
    func writeQuestions() {
        for voter in self.guards {
            guard let dueMs = voter.dueMs, let (number, question) = voter.question else {
                continue
            }
            voter.dueMs = nil
            let line = ServerLine.ask(
                id: voter.requestID,
                number: number,
                self.server.report(of: question.current),
                to: question.proposed.fragment,
                by: question.by,
                cause: question.cause,
                leftMs: dueMs
            )
            guard self.outbox.write(line[...]) else { return }
        }
    }

    // MARK: - For others

    /// How many holds and how many guards there are.
    var counts: (holds: Int, guards: Int) { (self.holds.count, self.guards.count) }

    /// The hold of that number; nil if it is none.
    func hold(_ number: UInt64) -> SocketVoter? { self.holds.first { $0.number == number } }

    /// The hold or guard of that number.
    subscript(_ number: UInt64) -> SocketVoter? {
        self.hold(number) ?? self.guards.first { $0.number == number }
    }

    /// Ends the one of that number.
    func end(_ number: UInt64) {
        self.server.voters[number] = nil
        for voter in self.holds + self.guards where voter.number == number { self.end(voter) }
        self.holds.removeAll { $0.number == number }
        self.guards.removeAll { $0.number == number }
        self.server.machine.voterWent()
    }

    private func end(_ voter: SocketVoter) {
        let isClosing = self.server.isClosing
        let why = self.server.requirements.willEnd(voter, isClosing: isClosing)
        voter.end(denying: isClosing ? "the daemon is going down" : why)
    }

    /// Ends them all.
    func end() {
        for voter in self.holds + self.guards {
            self.server.voters[voter.number] = nil
            self.end(voter)
        }
        guard !self.holds.isEmpty || !self.guards.isEmpty else { return }
        self.holds = []
        self.guards = []
        self.server.machine.voterWent()
    }

    // MARK: - From one process to the next

    /// Leaves them to the next process.
    ///
    /// What a hold keeps from happening is not to happen in the last moment: the server keeps them.
    func handOver(to record: inout HandOverRecord.Connection) {
        record.holds = self.holds.map(\.record)
        record.guards = self.guards.map(\.record)
        self.server.keep(self.holds + self.guards)
        self.holds = []
        self.guards = []
    }

    /// Takes up a hold or a guard of the last process.
    func resume(with request: Request, of voter: HandOverRecord.Voter) throws(WireError) {
        let line = Array(voter.request)
        let since = voter.since ?? .now
        if case .hold(let call) = request.call {
            try self.place(call, id: request.id, line, number: voter.number, since: since)
        } else if case .guard(let call) = request.call {
            let voter = try self.place(
                call,
                id: request.id,
                line,
                number: voter.number,
                since: since
            )
            self.server.requirements.connected(voter)
        }
    }
}
