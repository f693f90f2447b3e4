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
    /// Answers that come once something is kept.
    private let late: LateReplies

    private var list: VoterList

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
        self.list = VoterList(in: kept)
    }

    // MARK: - Requests

    func hold(_ call: HoldCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        if let name = call.name, let untilMs = call.untilMs {
            return try self.hold(as: name, for: untilMs, id: id, line)
        }
        try self.list.checkRoom(forHold: self.server.limits.holdsPerConnection)
        let away = self.server.kept.away(true, before: call.before, by: self.peer)
        let number = away?.number ?? self.server.voters.nextNumber()
        let hold = try self.place(call, id: id, line, number: number, since: away?.since ?? .now)
        let reply = ServerLine.reply(
            id: id,
            own: { writer in
                writer.number(.hold, number)
                if !self.server.kept.isLasting { writer.bool("kept", false) }
            }
        )
        self.record(hold, id: id, reply)
    }

    /// Takes a hold that belongs to the user and not to the connection.
    private func hold(
        as name: String,
        for untilMs: UInt64,
        id: RequestID?,
        _ line: [UInt8]
    ) throws(WireError) {
        var place: UInt64?
        let number = try self.server.kept.hold(
            name,
            for: untilMs,
            by: self.peer,
            line,
            number: self.server.voters.nextNumber
        ) { failure in
            guard let place else { return }
            self.late.end(place, failure) {
                ServerLine.refusal(
                    id: id,
                    WireError(.internal, "the hold \(name) could not be recorded: \($0)")
                )
            }
        }
        place = self.late.begin(ServerLine.reply(id: id, own: { $0.number(.hold, number) }))
    }

    /// Answers that a hold or a guard is there, once it is recorded.
    private func record(_ voter: SocketVoter, id: RequestID?, _ reply: [UInt8]) {
        guard self.server.kept.isLasting else {
            self.server.kept.placed(voter)
            return self.outbox.reply(reply)
        }
        let place = self.late.begin(reply)
        voter.isGranted = false
        self.server.kept.placed(voter) { failure in
            voter.isGranted = true
            if voter.hasDue { self.server.scheduleFlush() }
            // What is not recorded is not there.
            if failure != nil { self.end(voter.number) }
            self.late.end(place, failure) {
                ServerLine.refusal(
                    id: id,
                    WireError(.internal, "\(voter.label) could not be recorded: \($0)")
                )
            }
        }
    }

    /// Puts a hold in its place among the voters.
    private func place(
        _ call: HoldCall,
        id: RequestID?,
        _ line: [UInt8],
        number: UInt64,
        since: WallTime
    ) throws(WireError) -> SocketVoter {
        let hold = try self.makeVoter(
            number,
            id: id,
            why: call.why,
            before: call.before,
            VoterTerms(call),
            since: since,
            line
        )
        hold.begin(in: self.server.machine)
        self.list.append(hold: hold)
        self.server.voters.add(hold, of: self)
        return hold
    }

    func `guard`(_ call: GuardCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        try self.list.checkRoom(forGuard: self.server.limits.guardsPerConnection)
        let away: SocketVoter?
        if let name = call.required {
            try self.server.kept.check(name, by: self.peer)
            away = self.server.kept.missing(name)
        } else {
            away = self.server.kept.away(false, before: call.before, by: self.peer)
        }
        let number = away?.number ?? self.server.voters.nextNumber()
        let voter = try self.place(call, id: id, line, number: number, since: away?.since ?? .now)
        self.record(voter, id: id, ServerLine.reply(id: id, own: { $0.number(.guard, number) }))
    }

    /// Puts a guard in its place among the voters.
    private func place(
        _ call: GuardCall,
        id: RequestID?,
        _ line: [UInt8],
        number: UInt64,
        since: WallTime
    ) throws(WireError) -> SocketVoter {
        let voter = try self.makeVoter(
            number,
            id: id,
            why: call.why,
            before: call.before,
            VoterTerms(call),
            name: call.required,
            since: since,
            line
        )
        voter.deliver = { question, isInherited in
            self.put(question, to: voter, call.deadlineMs, isInherited)
        }
        voter.begin(in: self.server.machine)
        self.list.append(guard: voter)
        self.server.voters.add(voter, of: self)
        return voter
    }

    /// The states are about to be declared anew.
    func expect(_ next: StateSchema) {
        for voter in self.list.all { voter.patterns.expect(next) }
    }

    /// The states are declared anew, or not after all.
    func redeclared() {
        let schema = self.server.machine.schema
        for voter in self.list.all { voter.patterns.settle(on: schema) }
    }

    /// The holds and guards that no state can concern any more.
    var void: [SocketVoter] {
        let schema = self.server.machine.schema
        return self.list.all.filter { $0.patterns.areVoid(in: schema) }
    }

    func vote(_ call: VoteCall, id: RequestID?) throws(WireError) {
        guard let voter = self.list.guards.first(where: { $0.question?.number == call.ask }) else {
            throw WireError(.notFound, "question \(call.ask) was not put to this connection")
        }
        guard voter.vote(call) else {
            throw WireError(.notFound, "question \(call.ask) was decided without this vote")
        }
        self.outbox.reply(ServerLine.reply(id: id))
    }

    private func makeVoter(
        _ number: UInt64,
        id: RequestID?,
        why: String?,
        before patterns: PatternList,
        _ terms: VoterTerms,
        name: String? = nil,
        since: WallTime,
        _ line: [UInt8]
    ) throws(WireError) -> SocketVoter {
        guard !self.outbox.isClosed else {
            throw WireError(.internal, "the connection is closed")
        }
        try self.list.checkRoom(for: line, before: patterns)
        let voter = SocketVoter(
            number: number,
            requestID: id,
            peer: self.peer,
            why: why,
            before: patterns,
            terms: terms,
            name: name,
            since: since,
            request: line
        )
        if let next = self.server.declarations.next { voter.patterns.expect(next) }
        return voter
    }

    // MARK: - Questions

    /// Has a guard sent its question, when all that is queued before it has been written.
    ///
    /// The time of one that was put while its client was away is measured here.
    private func put(
        _ question: VoteRequest,
        to voter: SocketVoter,
        _ leftMs: UInt64,
        _ isInherited: Bool
    ) {
        let number = self.server.voters.nextNumber()
        voter.put(question, number: number, leftMs: leftMs)
        self.server.scheduleFlush()
        guard isInherited else { return }
        self.server.loop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(leftMs))) {
            voter.timeOut(number)
        }
    }

    /// Whether questions have not been sent.
    var hasQuestions: Bool { self.list.guards.contains { $0.hasDue } }

    /// Writes the questions that have not been sent, as far as the socket takes them.
    func writeQuestions() {
        for voter in self.list.guards {
            guard let (number, question, leftMs) = voter.takeDue() else { continue }
            let line = ServerLine.ask(
                id: voter.requestID,
                number: number,
                self.server.report(of: question.current),
                to: question.proposed.fragment,
                by: question.by,
                cause: question.cause,
                leftMs: leftMs
            )
            guard self.outbox.write(line[...]) else { return }
        }
    }

    // MARK: - For others

    /// How many holds and how many guards there are.
    var counts: (holds: Int, guards: Int) { (self.list.holds.count, self.list.guards.count) }

    /// The hold of that number; nil if it is none.
    func hold(_ number: UInt64) -> SocketVoter? { self.list.hold(number) }

    /// The hold or guard of that number.
    subscript(_ number: UInt64) -> SocketVoter? { self.list[number] }

    /// Ends the one of that number.
    func end(_ number: UInt64) {
        self.server.voters.remove(number)
        for voter in self.list.all where voter.number == number { self.end(voter) }
        self.list.remove(number)
        self.server.machine.voterWent()
    }

    private func end(_ voter: SocketVoter) {
        let isClosing = self.server.isClosing
        guard !self.server.kept.willEnd(voter, isClosing: isClosing) else { return }
        voter.end(denying: isClosing ? "the daemon is shutting down" : nil)
    }

    /// Ends them all: the client has ended its side (``Connection/clientEnded()``), has vanished or
    /// no longer reads (``WritingOrder/drop()``), or is told goodbye (``Farewell``).
    func end() {
        for voter in self.list.all {
            self.server.voters.remove(voter.number)
            self.end(voter)
        }
        guard !self.list.isEmpty else { return }
        self.list.clear()
        self.server.machine.voterWent()
    }

    // MARK: - From one process to the next

    /// Leaves them to the next process.
    ///
    /// What a hold keeps from happening is not to happen in the last moment: the registry keeps them.
    func handOver(to record: inout HandOverRecord.Connection) {
        record.holds = self.list.holds.map(\.record)
        record.guards = self.list.guards.map(\.record)
        self.server.voters.keep(self.list.all)
        self.list.clear()
    }

    /// Takes up a hold or a guard of the last process.
    func resume(with request: Request, of voter: HandOverRecord.Voter) throws(WireError) {
        let line = Array(voter.request)
        let since = voter.since ?? .now
        if case .hold(let call) = request.call {
            self.server.kept.placed(
                try self.place(call, id: request.id, line, number: voter.number, since: since)
            )
        } else if case .guard(let call) = request.call {
            self.server.kept.placed(
                try self.place(call, id: request.id, line, number: voter.number, since: since)
            )
        }
    }
}
