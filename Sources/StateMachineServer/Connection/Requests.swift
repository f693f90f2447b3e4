import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Carries out the requests of one client, one after the other.
///
/// Belongs to the event loop.
struct Requests {
    private let parts: ConnectionParts
    private var server: StateServer { self.parts.server }
    private var door: Door { self.parts.door }
    private var outbox: Outbox { self.parts.outbox }
    private var sets: Sets { self.parts.sets }

    init(_ parts: ConnectionParts) {
        self.parts = parts
    }

    /// Whether the client has few enough unread answers and undecided sets.
    ///
    /// Only one request that stores something besides changes is under way at a time: each is a
    /// commit of its own, and sets wait for it.
    var mayGoOn: Bool {
        (!self.parts.reader.hasDeferred || !self.sets.hasOrdered) && self.outbox.mayTakeMore
            && self.sets.mayTakeMore && !self.outbox.owesLateReply
    }

    /// Whether what kept the client from being read is over.
    ///
    /// Its answers may have been written already, in the middle of a turn.
    var areToGoOn: Bool { self.parts.reader.isStopped && self.mayGoOn }

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

    /// Answers the next request in place; from a client that is gone, only if it changes something.
    func handleNext(isGone: Bool) -> Step {
        let outcome: Outcome
        switch self.parts.reader.next() {
        case .line(let line):
            outcome = line.withUnsafeReadableBytes { self.handle($0, isGone) }
        case .deferred(let line):
            outcome = line.withUnsafeBytes { self.handle($0, isGone) }
        case .none: return .none
        case .tooLong: return .tooLong
        }
        switch outcome {
        case .handled: return .handled
        case .deferred(let line):
            self.parts.reader.putOff(line)
            return .handled
        case .outOfTime(let line):
            self.parts.reader.putOff(line)
            return .outOfTime
        }
    }

    /// Whether a client that is gone has left anything that could change something.
    var hasRest: Bool {
        self.door.takes(.set) && !self.server.isClosing && self.parts.reader.hasRequest
    }

    /// How far the rest is carried out.
    enum Rest {
        case done
        /// The sets before it have to be decided.
        case waits
        /// There is no time for more.
        case outOfTime
        /// Everybody has to be written to first.
        case behindReaders
    }

    /// Carries out what a client that is gone has sent, if it changes something.
    func carryOutRest() -> Rest {
        while self.hasRest {
            guard !self.mustWaitForReaders else { return .behindReaders }
            // Once its sets are decided it goes on.
            guard self.mayGoOn else { break }
            guard self.parts.turn.mayServe() else { return .outOfTime }
            guard self.handleNext(isGone: true) == .handled else { break }
        }
        self.sets.withdrawWaiting()
        return self.hasRest ? .waits : .done
    }

    /// What became of a line.
    private enum Outcome {
        case handled
        /// It comes again when the sets before it are decided.
        case deferred([UInt8])
        /// It comes again in the connection's next turn.
        case outOfTime([UInt8])
    }

    /// Answers one request line, or defers it.
    ///
    /// What is answered at once waits for earlier sets that are on their way to the disk. What
    /// changes nothing also waits until there is time; at the door for readers that is known before
    /// the line is parsed.
    private func handle(_ line: UnsafeRawBufferPointer, _ isGone: Bool) -> Outcome {
        let line = Array(line)
        let isSetters = self.door.takes(.set)
        guard isSetters || self.parts.turn.mayServe() else { return .outOfTime(line) }
        let mayAnswer = !self.sets.hasOrdered
        do {
            guard let request = try Request.parse(line) else { return .handled }
            let isReading = request.operation.isReading
            guard !isGone || !isReading else { return .handled }
            guard mayAnswer || request.operation.isProposal else { return .deferred(line) }
            guard !isReading || !isSetters || self.parts.turn.mayServe() else {
                return .outOfTime(line)
            }
            do {
                try self.perform(request, line)
                self.server.counters.requests.add()
            } catch {
                guard mayAnswer else { return .deferred(line) }
                self.server.counters.requests.add()
                self.server.counters.refusals.add()
                self.outbox.reply(ServerLine.refusal(id: request.id, error))
            }
        } catch {
            guard mayAnswer else { return .deferred(line) }
            self.server.counters.refusals.add()
            self.outbox.reply(ServerLine.refusal(id: error.id, error.error))
        }
        return .handled
    }

    private func perform(_ request: Request, _ line: [UInt8]) throws(WireError) {
        let operation = request.operation
        guard self.door.takes(operation) else {
            throw WireError(
                .forbidden,
                "\(operation.rawValue) is not allowed on \(self.door.fileName); "
                    + "use \(Door.control.fileName)"
            )
        }
        // The machine judges a set, and the ring is brought up to it before it is answered.
        if operation != .set { self.server.catchUp() }
        switch try self.server.machine.schema.resolved(request.call) {
        case .get:
            ServerLine.writeReply(
                to: &self.server.scratch.line,
                id: request.id,
                report: self.server.report.counting(self.server.machine.leftMs),
                rest: { writer in
                    self.server.writeOrigin(of: self.server.snapshot.seq, to: &writer)
                    self.server.writeAges(to: &writer)
                }
            )
            self.outbox.replyWithLine(after: self.server.ring.head)
        case .set(let call):
            try self.sets.set(call, id: request.id, lineLength: line.count)
        case .send(let call):
            try self.sets.propose(.send(call), id: request.id)
        case .update(let call):
            try self.sets.propose(.update(call), id: request.id)
        case .watch(let call):
            try self.parts.subscriptions.begin(call, id: request.id, line)
        case .unwatch:
            try self.unwatch(id: request.id)
        case .wait(let call):
            try self.parts.waits.begin(call, id: request.id, line)
        case .hold(let call):
            try self.parts.voters.hold(call, id: request.id, line)
        case .release(let call):
            try self.parts.voters.release(call, id: request.id)
        case .guard(let call):
            try self.parts.voters.guard(call, id: request.id, line)
        case .vote(let call):
            try self.parts.voters.vote(call, id: request.id)
        case .history(let call):
            try self.parts.history.begin(call, id: request.id, line)
        case .reload:
            try self.reload(id: request.id)
        case .stats:
            self.outbox.reply(self.server.stats(id: request.id))
        case .ping:
            let seq = self.server.report.seq
            self.outbox.reply(ServerLine.reply(id: request.id, own: { $0.number("seq", seq) }))
        case .describe:
            self.outbox.reply(
                self.server.prepared.reply(to: .describe, at: self.door) {
                    self.server.description(for: self.door)
                },
                id: request.id
            )
        case .help:
            self.outbox.reply(
                self.server.prepared.reply(to: .help, at: self.door) {
                    let text = self.door.help(withEvents: self.server.machine.events != nil)
                    return ServerLine.reply(id: nil, own: { $0.string("help", text) })
                },
                id: request.id
            )
        }
    }

    /// Has the settings and the machine's file read again, as its own user and root may; answers when that is done.
    private func reload(id: RequestID?) throws(WireError) {
        guard self.parts.peer.uid == 0 || self.parts.peer.uid == self.server.ownPeer.uid else {
            throw WireError(.forbidden, "only root and the daemon's own user may reload")
        }
        guard let reload = self.server.reload else {
            throw WireError(.notFound, "this daemon has no files to reload")
        }
        self.outbox.replyLater(ServerLine.reply(id: id))
        let parts = NIOLoopBound((self.parts, self.server), eventLoop: self.server.loop)
        reload { result in
            parts.eventLoop.execute {
                let (parts, server) = parts.value
                parts.outbox.giveLateReply { _ in server.answer(to: result, id: id) }
            }
        }
    }

    private func unwatch(id: RequestID?) throws(WireError) {
        guard self.parts.subscriptions.end(id) || id.map({ self.parts.waits.end($0) }) ?? false
        else {
            throw WireError(
                .notFound,
                id == nil
                    ? "this connection has no watch without an id"
                    : "this connection has no watch or wait with this id"
            )
        }
        self.outbox.reply(ServerLine.reply(id: id))
    }
}
