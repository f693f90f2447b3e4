import NIOCore
import StateMachineCore
import StateMachineProtocol

extension Connection {
    /// Answers one request line, or keeps it: what is answered at once waits for the sets before it
    /// that are on their way to the disk.
    ///
    /// So does what changes nothing, until there is time. At the door of those who only read that is
    /// known before the line is read.
    func handle(_ line: UnsafeRawBufferPointer) -> Step {
        if self.handleKnownSet(line) { return .handled }
        let line = Array(line)
        let isSetters = self.door.takes(.set)
        guard isSetters || self.turn.mayServe() else {
            self.deferred = line
            return .outOfTime
        }
        let mayAnswer = !self.sets.hasOrdered
        do {
            guard let request = try Request.parse(line) else { return .handled }
            // Nobody hears the answer.
            guard !self.isGone || !request.operation.isReading else { return .handled }
            guard mayAnswer || request.operation == .set else {
                self.deferred = line
                return .handled
            }
            if request.operation.isReading {
                guard !isSetters || self.turn.mayServe() else {
                    self.deferred = line
                    return .outOfTime
                }
            }
            do {
                try self.perform(request, line)
                self.server.counters.requests.add()
            } catch {
                guard mayAnswer else {
                    self.deferred = line
                    return .handled
                }
                self.server.counters.requests.add()
                self.server.counters.refusals.add()
                self.outbox.reply(ServerLine.refusal(id: request.id, error))
            }
        } catch {
            guard mayAnswer else {
                self.deferred = line
                return .handled
            }
            self.server.counters.refusals.add()
            self.outbox.reply(ServerLine.refusal(id: error.id, error.error))
        }
        return .handled
    }

    /// Deals with the line if it is a `set` of a state that was named in the same bytes before.
    private func handleKnownSet(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let set = SetLine(line), self.door.takes(.set), !self.server.isClosing,
            let state = self.server.decodedStates[set]
        else { return false }
        self.server.counters.requests.add()
        self.sets.set(state, nil, cause: set.cause, id: set.id)
        return true
    }

    private func perform(_ request: Request, _ line: [UInt8]) throws(WireError) {
        let operation = request.operation
        guard self.door.takes(operation) else {
            throw WireError(
                .forbidden,
                "\(operation.rawValue) is not for \(self.door.fileName); "
                    + "use \(Door.control.fileName)"
            )
        }
        self.server.catchUp()
        switch request.call {
        case .get:
            ServerLine.writeReply(
                to: &self.server.line,
                id: request.id,
                report: self.server.report
            )
            self.outbox.replyWithLine(after: self.server.ring.head)
        case .set(let call):
            try self.sets.set(call, id: request.id, line)
        case .watch(let call):
            try self.subscriptions.begin(call, id: request.id, line)
        case .unwatch:
            try self.unwatch(id: request.id)
        case .wait(let call):
            try self.waits.begin(call, id: request.id, line)
        case .hold(let call):
            try self.voters.hold(call, id: request.id, line)
        case .release(let number):
            try self.voters.release(number, id: request.id)
        case .guard(let call):
            try self.voters.guard(call, id: request.id, line)
        case .vote(let call):
            try self.voters.vote(call, id: request.id)
        case .history(let call):
            try self.history.begin(call, id: request.id, line)
        case .stats:
            self.outbox.reply(self.server.stats(id: request.id))
        case .ping:
            let seq = self.server.report.seq
            self.outbox.reply(ServerLine.reply(id: request.id, own: { $0.number("seq", seq) }))
        case .describe:
            self.outbox.reply(
                self.server.prepared.reply(to: .describe, at: self.door, id: request.id) {
                    self.server.description(for: self.door)
                }
            )
        case .help:
            self.outbox.reply(
                self.server.prepared.reply(to: .help, at: self.door, id: request.id) {
                    let text = self.door.help
                    return ServerLine.reply(id: nil, own: { $0.string("help", text) })
                }
            )
        }
    }

    private func unwatch(id: RequestID?) throws(WireError) {
        guard self.subscriptions.end(id) || id.map({ self.waits.end($0) }) ?? false else {
            throw WireError(
                .notFound,
                id == nil
                    ? "there is no watch without id on this connection"
                    : "there is no watch and no wait of this id on this connection"
            )
        }
        self.outbox.reply(ServerLine.reply(id: id))
    }
}
