import FoundationEssentials
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The holds and guards of one connection: voters of the machine that live as long as the client's side of it.
///
/// Belongs to the event loop.
final class HoldsAndGuards {
    private let output: Output
    private let standing: StandingRequests
    private var server: StateServer { self.output.server }
    var peer: Peer { self.output.peer }
    private var voters: [SocketVoter] { self.standing.voters }

    init(_ output: Output, _ standing: StandingRequests) {
        self.output = output
        self.standing = standing
    }

    // MARK: - Requests

    func hold(_ call: HoldCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        if let name = call.name, let untilMs = call.untilMs {
            try self.checkRight()
            return try self.hold(as: name, for: untilMs, id: id, line)
        }
        try self.begin(VoterRequest(call), id: id, line)
    }

    func `guard`(_ call: GuardCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        try self.begin(VoterRequest(call), id: id, line)
    }

    /// Refuses a client that may not hold or guard states; whoever has a hold or a guard may keep it, vote, and release it.
    private func checkRight() throws(WireError) {
        let objection = self.server.objection(to: .vote, from: self.output.client)
        if let objection { throw objection }
    }

    private func begin(_ asked: VoterRequest, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        guard asked.required == nil || self.server.sharing == nil else {
            throw WireError(
                .unavailable,
                "a machine that several hosts share has no required guards yet"
            )
        }
        let (all, limits) = (self.server.voters, self.server.limits)
        let (holds, guards) = self.counts
        let isHold = asked.terms.isHold
        let away =
            asked.required.map { all.missing($0) }
            ?? all.away(isHold, before: asked.before, by: self.peer)
        if away.map({ self.peer.owns($0.peer) }) != true { try self.checkRight() }
        if isHold {
            try self.standing.checkRoom("holds", holds, of: limits.holdsPerConnection)
        } else {
            try self.standing.checkRoom("guards", guards, of: limits.guardsPerConnection)
        }
        if let name = asked.required { try all.check(name, by: self.peer) }
        let number = away?.number ?? all.nextNumber()
        let since = away?.record.since ?? .now
        let voter = try self.enlist(
            asked,
            id: id,
            line,
            number: number,
            since: since,
            succeeding: away != nil
        )
        let reply = ServerLine.reply(
            id: id,
            own: { writer in
                writer.number(isHold ? .hold : .guard, number)
                if isHold, !all.isLasting { writer.bool("kept", false) }
            }
        )
        self.output.replyLater(reply)
        voter.inbox?.isGranted = false
        all.placed(voter) { refusal in
            voter.inbox?.isGranted = true
            if voter.inbox?.hasDue == true { self.scheduleQuestions() }
            // What is not recorded is not there.
            if refusal != nil { self.end(voter.number) }
            // Whoever counts on it is told of the session's end instead.
            guard refusal != nil || self.server.sharing?.engine.isSessionSure != false else {
                return
            }
            self.answer(refusal, id: id) {
                "\(voter.claim.label) was not taken\(self.cause($0))"
            }
        }
    }

    /// Takes a hold that belongs to the user and not to the connection.
    private func hold(
        as name: String,
        for untilMs: UInt64,
        id: RequestID?,
        _ line: [UInt8]
    ) throws(WireError) {
        let number = try self.server.voters.hold(name, for: untilMs, by: self.peer, line) {
            refusal in
            self.answer(refusal, id: id, orUnsure: "the hold \(name) may have been taken") {
                "the hold \(name) was not taken\(self.cause($0))"
            }
        }
        self.output.replyLater(ServerLine.reply(id: id, own: { $0.number(.hold, number) }))
    }

    /// Gives the answer to what is recorded by now, or could not be.
    ///
    /// `unsure` is what is said where nobody knows whether it was; nil: it is ended in any case, so that is not asked.
    private func answer(
        _ refusal: Refusal?,
        id: RequestID?,
        orUnsure unsure: String? = nil,
        _ message: (String) -> String
    ) {
        let code: ErrorCode = self.server.sharing == nil ? .internal : .unavailable
        self.output.giveLateReply { reply in
            guard let refusal else { return reply }
            guard case .unsure(let why) = refusal, let unsure else {
                return ServerLine.refusal(id: id, WireError(code, message(refusal.failure)))
            }
            let error = WireError(code, "\(unsure): \(why)")
            return ServerLine.refusal(id: id, error, own: { $0.bool("unsure", true) })
        }
    }

    /// Why nothing could be recorded, as the end of a sentence.
    private func cause(_ why: String) -> String {
        self.server.sharing == nil ? ", as the history cannot be written: \(why)" : ": \(why)"
    }

    /// Puts a hold or a guard in its place among the machine's voters.
    private func enlist(
        _ asked: VoterRequest,
        id: RequestID?,
        _ line: [UInt8],
        number: UInt64,
        since: WallTime,
        succeeding succeeds: Bool = false
    ) throws(WireError) -> SocketVoter {
        guard !self.output.isClosed else {
            throw WireError(.internal, "the connection is closed")
        }
        try self.standing.checkRoom(for: line)
        try self.standing.checkExceptions(asked.before.inexactPatterns, of: "a hold or guard")
        let record = KeptVoter(
            number: number,
            name: asked.required,
            peer: self.peer,
            request: line,
            since: since
        )
        let voter = SocketVoter(
            record,
            asked,
            id: id,
            of: self,
            among: self.server.voters,
            matching: self.server.states
        )
        if let next = self.server.voters.next { voter.expect(next) }
        voter.begin(in: self.server, succeeding: succeeds)
        self.standing.voters.append(voter)
        return voter
    }

    func vote(_ call: VoteCall, id: RequestID?) throws(WireError) {
        guard let voter = self.voters.first(where: { $0.inbox?.asks(call.ask) == true }) else {
            throw WireError(
                .notFound,
                "question \(call.ask) is not open: no guard of this connection was asked it, or it has ended"
            )
        }
        guard voter.vote(call) else {
            throw WireError(.notFound, "question \(call.ask) has already been decided")
        }
        self.output.reply(ServerLine.reply(id: id))
    }

    // MARK: - Releases

    /// Releases a hold or a guard of the client's user, and for root anybody's.
    func release(_ call: ReleaseCall, id: RequestID?) throws(WireError) {
        let all = self.server.voters
        if let number = call.number {
            if let kept = all[number] { return try self.release(kept, id: id) }
            if let kept = self.server.sharing?.names.own(number) {
                return try self.releaseShared(kept, id: id)
            }
            guard let voter = all.connected(number), let owner = voter.owner else {
                throw WireError(.notFound, self.absence(of: number))
            }
            if owner !== self { try self.checkOwner(owner.peer, of: voter.claim.label) }
            self.output.replyLater(ServerLine.reply(id: id))
            owner.end(number) { refusal in
                self.answer(refusal, id: id) {
                    self.server.sharing == nil
                        ? "\(voter.claim.label) is released, but if the daemon is killed it is in force again for some seconds\(self.cause($0))"
                        : "\(voter.claim.label) is released, and the other hosts learn that when they can\(self.cause($0))"
                }
            }
        }
        if let name = call.required {
            guard let kept = all[required: name] else {
                throw WireError(.notFound, "there is no required guard \(name)")
            }
            try self.release(kept, id: id)
        }
        if let name = call.name {
            if let names = self.server.sharing?.names {
                return try self.releaseShared(names.released(name), id: id)
            }
            all.endOverdue()
            guard let kept = all[named: name] else {
                throw WireError(.notFound, "there is no hold \(name)")
            }
            try self.release(kept, id: id)
        }
    }

    /// What is said of a number that nobody here has: at which other hosts somebody has it, who share the machine.
    private func absence(of number: UInt64) -> String {
        guard let sharing = self.server.sharing else {
            return "there is no hold or guard \(number)"
        }
        let others = sharing.engine.foreignVoters.filter { $0.record.number == number }
        let hosts = others.map(\.host).sorted()
        guard let first = hosts.first else {
            return "there is no hold or guard \(number) at this host"
        }
        return hosts.count == 1
            ? "there is no hold or guard \(number) at this host; the one of host \(first) is released there"
            : "there is no hold or guard \(number) at this host; those of hosts \(hosts.joined(separator: ", ")) are released there"
    }

    private func checkOwner(_ owner: Peer, of what: String) throws(WireError) {
        guard !self.peer.owns(owner) else { return }
        throw WireError(
            .forbidden,
            "\(what) belongs to user \(owner.uid); only that user and root may release it"
        )
    }

    /// Ends one that outlives its connections, and the guards of its name with it.
    private func release(_ kept: KeptVoter, id: RequestID?) throws(WireError) {
        let what =
            switch kept.term {
            case .connection: "hold or guard \(kept.number)"
            case .required(let name): "the required guard \(name)"
            case .named(let name, _): "the hold \(name)"
            }
        try self.checkOwner(kept.peer, of: what)
        self.output.replyLater(ServerLine.reply(id: id))
        let guards = self.server.voters.release(kept) { refusal in
            self.answer(refusal, id: id) {
                "\(what) is released, but back if the daemon ends before its history can be written again: \($0)"
            }
        }
        for voter in guards { voter.owner?.end(voter.number) }
        self.server.stays?.voterWent()
    }

    /// Ends a hold with a name of a machine that hosts share.
    private func releaseShared(_ kept: KeptVoter, id: RequestID?) throws(WireError) {
        let what = "the hold \(kept.name ?? "\(kept.number)")"
        try self.checkOwner(kept.peer, of: what)
        self.output.replyLater(ServerLine.reply(id: id))
        self.server.voters.recordAlone(.voterEnded(kept.number)) { refusal in
            self.answer(refusal, id: id, orUnsure: "\(what) may have been released") {
                "\(what) was not released\(self.cause($0))"
            }
        }
    }

    // MARK: - Questions

    /// The number of a guard's question.
    func nextNumber() -> UInt64 { self.server.voters.nextNumber() }

    /// Has guards sent their questions, when all that is queued before has been written.
    func scheduleQuestions() {
        self.output.wake()
        self.server.scheduleFlush()
    }

    /// Whether questions have not been sent.
    var hasQuestions: Bool { self.voters.contains { $0.inbox?.hasDue == true } }

    /// Writes the questions that have not been sent, as far as the socket takes them.
    func writeQuestions() {
        for voter in self.voters where self.output.isFree {
            guard let inbox = voter.inbox, let (number, question, leftMs) = inbox.takeDue() else {
                continue
            }
            let motion = question.motion
            let line = ServerLine.ask(
                id: inbox.requestID,
                number: number,
                self.server.report(of: motion.current),
                to: self.server.states.encoded(motion.proposed).fragment,
                by: motion.by,
                at: question.host ?? self.server.sharing?.engine.host,
                cause: motion.cause,
                leftMs: leftMs
            )
            self.output.write(line[...])
        }
    }

    // MARK: - Their end

    var isEmpty: Bool { self.voters.isEmpty }

    /// How many holds and how many guards there are.
    var counts: (holds: Int, guards: Int) {
        let holds = self.voters.count { $0.terms.isHold }
        return (holds, self.voters.count - holds)
    }

    /// Ends the one of that number; `done` is called when that is recorded, with nil, or with why it could not be.
    func end(_ number: UInt64, done: Voters.Done? = nil) {
        for voter in self.voters where voter.number == number { self.end(voter, done: done) }
        self.standing.voters.removeAll { $0.number == number }
        self.server.stays?.voterWent()
    }

    private func end(_ voter: SocketVoter, done: Voters.Done? = nil) {
        let isClosing = self.server.isClosing
        self.server.voters.willEnd(voter, isClosing: isClosing, done: done)
        voter.end(voting: isClosing ? .no("the daemon is shutting down") : .abstain)
    }

    /// Ends them all: the client has ended its side (``Connection/inputClosed()``), has vanished or
    /// no longer reads, or is told goodbye.
    func end() {
        guard !self.voters.isEmpty else { return }
        for voter in self.voters { self.end(voter) }
        self.standing.voters = []
        self.server.stays?.voterWent()
    }

    // MARK: - From one process to the next

    /// Leaves them to the next process.
    ///
    /// What a hold keeps from happening is not to happen in the last moment: they go on voting.
    func record() -> [StandingRow] {
        defer { self.standing.voters = [] }
        return self.voters.map { voter in
            let record = voter.record
            return .voter(
                VoterRow(line: Data(record.request), number: voter.number, since: record.since)
            )
        }
    }

    /// Takes up a hold or a guard of the last process.
    func resume(_ row: VoterRow, asking request: Request) throws(WireError) {
        guard let asked = VoterRequest(request.call) else { return }
        let (line, since) = (Array(row.line), row.since ?? .now)
        self.server.voters.placed(
            try self.enlist(asked, id: request.id, line, number: row.number, since: since)
        )
    }
}
