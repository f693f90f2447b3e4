import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Carrying out the client's requests, one after the other.
extension Connection {
    /// Whether the client has few enough unread answers and undecided sets.
    ///
    /// Only one request that stores something besides changes is under way at a time: each is a
    /// commit of its own, and sets wait for it. So do they for one whose cursor a quorum is asked about.
    var mayGoOn: Bool {
        (!self.input.isPutBack || !self.sets.hasOrdered) && self.output.mayTakeMore
            && self.sets.mayTakeMore && !self.output.owesLateReply && self.cursorCheck != .asked
    }

    /// Whether reading was stopped and may be resumed.
    ///
    /// Its answers may have been written already, in the middle of a turn.
    var mayReadAgain: Bool { !self.input.isRead && self.mayGoOn }

    /// Whether a set would make readers lose changes that they have had no time for.
    var mustWaitForReaders: Bool { self.server.isAheadOfReaders && self.door.takes(.set) }

    /// Whether the next request may be answered, if there is one.
    var mayHandleNext: Bool { self.mayGoOn && !self.mustWaitForReaders }

    /// What became of the next request.
    enum Step {
        case handled
        /// There is no complete request.
        case none
        /// It comes again in the connection's turn.
        case outOfTime
        /// It is too long.
        case tooLong
    }

    /// Answers the next request in place.
    ///
    /// Of a client that is gone all that is left waits for its turn.
    func handleNext() -> Step {
        if self.lifecycle.isGone {
            guard self.hasRest else { return .none }
            guard self.mayServe else { return .outOfTime }
        }
        switch self.input.next() {
        case .line(let length): return self.handle(length)
        case .none: return .none
        case .tooLong: return .tooLong
        }
    }

    /// Whether a client that is gone has left anything that could change something.
    var hasRest: Bool {
        self.door.takes(.set) && !self.server.isClosing && self.input.hasLine
    }

    /// Answers one request line, or defers it.
    ///
    /// What is answered at once waits for earlier sets that are on their way to the disk. What
    /// changes nothing also waits until there is time; at the door for readers that is known before
    /// the line is parsed. From a client that is gone only what changes something is taken.
    private func handle(_ length: Int) -> Step {
        let isSetters = self.door.takes(.set)
        guard isSetters || self.mayServe else { return self.again(.outOfTime) }
        let mayAnswer = !self.sets.hasOrdered
        do {
            guard let request = try self.input.takeRequest(length) else { return .handled }
            let operation = request.operation
            let isReading = operation.isReading
            guard !isReading || !self.lifecycle.isGone else { return .handled }
            guard mayAnswer || operation.isProposal else { return self.again(.handled) }
            guard !isReading || !isSetters || self.mayServe else { return self.again(.outOfTime) }
            do {
                if isReading, try !self.knowsCursors(of: request.call) {
                    return self.again(.handled)
                }
                try self.perform(request)
                self.server.counters.add(.requests)
            } catch {
                guard mayAnswer else { return self.again(.handled) }
                self.server.counters.add(.requests)
                self.server.counters.add(.refusals)
                // Who may not ask is not told what would have been right.
                let objection = error.code == .badData ? self.objection(to: request.call) : nil
                self.output.reply(ServerLine.refusal(id: request.id, objection ?? error))
            }
        } catch {
            guard mayAnswer else { return self.again(.handled) }
            self.server.counters.add(.refusals)
            self.output.reply(ServerLine.refusal(id: error.id, error.error))
        }
        return .handled
    }

    /// Why the client may not ask for that now; nil if it may.
    private func objection(to call: Request.Call) -> WireError? {
        guard self.server.hasRights, let act = call.act(in: self.server.snapshot.value.name) else {
            return nil
        }
        return self.server.objection(to: act, from: self.output.client)
    }

    /// Keeps the line: it comes again when there is time, or the sets before it are decided.
    private func again(_ step: Step) -> Step {
        self.input.putBack()
        return step
    }

    /// Whether a request that changes nothing may be carried out now.
    private var mayServe: Bool { !self.lifecycle.isForgotten && self.server.turns.mayServe(self) }

    private func perform(_ request: Request) throws(WireError) {
        let (id, operation) = (request.id, request.operation)
        guard self.door.takes(operation) else {
            throw WireError(
                .forbidden,
                "\(operation.rawValue) is not allowed on \(self.door.fileName); "
                    + "use \(Door.control.fileName)"
            )
        }
        if let objection = self.server.sharing?.objection(to: operation) { throw objection }
        // Most sets have nothing to be resolved, and are not copied for it.
        if case .set(let call) = request.call, call.terms.isPlain {
            return try self.sets.set(call, id: id)
        }
        let line = self.input.line
        // The machine judges a set, and the ring is brought up to it before it is answered.
        if operation != .set { self.server.catchUp() }
        switch try self.server.schema.resolved(request.call) {
        case .get(let call):
            guard !call.showsPossible || self.door.takes(.set) else {
                throw WireError(
                    .forbidden,
                    "nothing is set on \(self.door.fileName); ask on \(Door.control.fileName) what is possible"
                )
            }
            if call.isFresh, let sharing = self.server.sharing {
                return self.confirm(call, by: sharing, id: id)
            }
            self.writeState(call, id: id)
            self.output.replyWithLine(after: self.server.past.ring.head)
        case .set(let call):
            try self.sets.set(call.placed(by: self.server.past.seq(of:)), id: id)
        case .send(let call):
            try self.sets.send(call, id: id)
        case .update(let call):
            try self.sets.update(call, id: id)
        case .watch(let call):
            try self.watches.begin(call, id: id, Array(buffer: line))
        case .unwatch:
            try self.unwatch(id: id)
        case .wait(let call):
            try self.waits.begin(call, id: id, Array(buffer: line))
        case .hold(let call):
            try self.voters.hold(call, id: id, Array(buffer: line))
        case .release(let call):
            try self.voters.release(call, id: id)
        case .guard(let call):
            try self.voters.guard(call, id: id, Array(buffer: line))
        case .vote(let call):
            try self.voters.vote(call, id: id)
        case .history(let call):
            try self.history.begin(call, id: id, Array(buffer: line))
        case .reload:
            try self.reload(id: id)
        case .stats:
            self.output.reply(self.server.stats(id: id))
        case .hosts:
            try self.hosts(id: id)
        case .ping:
            let seq = self.server.report.seq
            self.output.reply(
                ServerLine.reply(
                    id: id,
                    own: { $0.number(.seq, seq) },
                    rest: { self.server.writeStaleness(to: &$0) }
                )
            )
        case .describe:
            self.output.reply(self.server.description(at: self.door), id: id)
        case .help:
            self.output.reply(self.server.help(at: self.door, id: id))
        }
    }

    /// Writes the answer to `get` into the server's line.
    func writeState(_ call: GetCall, id: RequestID?) {
        ServerLine.writeReply(
            to: &self.server.scratch.line,
            id: id,
            self.server.report.counting(self.server.stays?.leftMs),
            rest: { writer in
                self.server.writeOrigin(of: self.server.snapshot.seq, to: &writer)
                self.server.writeAges(to: &writer)
                self.server.writeObstacles(to: &writer)
                guard call.showsPossible else { return }
                self.server.writePossible(for: self.output.client, to: &writer)
            }
        )
    }

    /// Has the settings and the machine's file read again, as its own user and root may; answers when that is done.
    private func reload(id: RequestID?) throws(WireError) {
        guard self.user.isPrivileged else {
            throw WireError(.forbidden, "only root and the daemon's own user may reload")
        }
        guard let reload = self.server.reload else {
            throw WireError(.notFound, "this daemon has no files to reload")
        }
        self.output.replyLater(ServerLine.reply(id: id))
        let connection = NIOLoopBound(self, eventLoop: self.server.loop)
        reload { result in
            connection.eventLoop.execute {
                let connection = connection.value
                connection.output.giveLateReply { _ in
                    connection.server.answer(to: result, id: id)
                }
            }
        }
    }

    private func unwatch(id: RequestID?) throws(WireError) {
        guard self.watches.end(id) || id.map({ self.waits.end($0) }) ?? false
        else {
            throw WireError(
                .notFound,
                id == nil
                    ? "this connection has no watch without an id; give the id of the watch or wait to end"
                    : "this connection has no watch or wait with this id"
            )
        }
        self.output.reply(ServerLine.reply(id: id))
    }
}
