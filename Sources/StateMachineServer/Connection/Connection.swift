import NIOCore
import StateMachineCore
import StateMachineProtocol

/// One client: connects reading its requests to carrying them out and to writing the answers.
///
/// Reading and closing go through the channel, writing past it (see ``Outbox``).
///
/// Belongs to the event loop.
final class Connection {
    /// What the last process recorded of the connection, and that process's whole record.
    typealias Inheritance = (record: HandOverRecord.Connection, handOver: HandOverRecord)

    let parts: ConnectionParts
    private let requests: Requests

    private(set) var lifecycle = ConnectionLifecycle()
    /// Its standing in the server's lists and turns.
    var standing = Standing()
    /// What it resumes from; nil once it has.
    private var inheritance: Inheritance?

    init(_ parts: ConnectionParts, inheriting inheritance: Inheritance? = nil) {
        self.parts = parts
        self.requests = Requests(parts)
        self.inheritance = inheritance
    }

    var peer: Peer { self.parts.peer }
    var user: User { self.parts.user }
    private var server: StateServer { self.parts.server }
    private var channel: any Channel { self.parts.channel }
    private var turn: ConnectionTurn { self.parts.turn }
    private var reader: RequestReader { self.parts.reader }
    private var outbox: Outbox { self.parts.outbox }

    // MARK: - Arrival

    /// Takes up the connection, now that its channel is active.
    func arrived() {
        self.server.add(self)
        self.turn.open(for: self)
        if let (record, handOver) = self.inheritance.take() {
            self.server.users.admitAgain(self.peer.uid)
            self.lifecycle.admitted()
            self.parts.resume(with: record, of: handOver)
            if self.outbox.isClosed { self.drop() }
            if record.isOpen { _ = self.lifecycle.timeCame() }
            self.reader.pause()
            self.reader.read(false)
            return self.server.arrivals.whenAllAreHere {
                if self.lifecycle.isWaiting { self.open() }
                self.resume()
            }
        }
        switch self.server.admit(self.peer.uid, at: self.parts.door) {
        case .admit(0):
            self.lifecycle.admitted()
            self.open()
        case .admit(let nanoseconds):
            // It has its place, but its user connects too fast: it is not read before its time.
            self.lifecycle.admitted()
            self.reader.read(false)
            self.channel.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(nanoseconds)) {
                [weak self] in
                self?.open()
            }
        case .turnAway(let limit, let places):
            self.leave(.noPlace(limit: limit, max: places))
            self.pump()
            if self.server.mayLinger { self.finish() } else { self.close() }
        }
    }

    /// Begins to serve the client.
    private func open() {
        guard !self.outbox.isClosed, self.lifecycle.timeCame() else { return }
        if self.parts.door.isWatchImplied { self.parts.subscriptions.beginImplicit() }
        self.serve()
    }

    // MARK: - Input

    /// Takes what the client has sent.
    func received(_ bytes: ByteBuffer) {
        guard !self.isHungUp else { return self.close() }
        guard self.lifecycle.isListening else { return }
        self.server.turns.arrived()
        self.reader.append(bytes)
        self.serve()
    }

    /// Whether the client has hung up, and nothing more of its input would be carried out.
    ///
    /// Once the other end is closed a channel reads all that there is, even while reading is off.
    private var isHungUp: Bool {
        (!self.lifecycle.isListening || self.reader.isStopped && !self.parts.door.takes(.set))
            && self.outbox.isHungUp
    }

    /// Carries out the requests that have arrived.
    ///
    /// It stops if the client does not read the answers or readers cannot keep up with the changes.
    func serve() {
        guard self.lifecycle.isServing, !self.reader.isPaused else { return }
        repeat {
            var step = Requests.Step.handled
            while self.lifecycle.isListening, self.requests.mayHandleNext, step == .handled {
                step = self.requests.handleNext(isGone: false)
            }
            if step == .tooLong { self.leave(.tooLong) }
            self.pump(self.parts.sets.takeHasSet() ? .urgent : .turn)
            self.server.counters.report()
            guard step != .outOfTime else {
                self.turn.cutShort()
                self.turn.want()
                return self.reader.stopIfFull()
            }
            guard self.requests.mayGoOn else { return self.reader.read(false) }
            if self.lifecycle.isListening, self.requests.mustWaitForReaders, self.reader.hasUnseen {
                return self.pause()
            }
        } while self.lifecycle.isListening && self.reader.hasRequest
        self.reader.read(true)
        if self.reader.hasSeenEnd { self.inputEnded() }
        self.finish()
    }

    private func pause() {
        self.reader.pause()
        self.server.pause(self)
    }

    /// Goes on after a pause: everybody has been written to.
    func resume() {
        guard self.reader.resume() else { return }
        if self.lifecycle.isGone { self.turn.want() } else { self.serve() }
    }

    // MARK: - Turns

    /// Whether it has something to do in a round of turns.
    var wantsTurn: Bool {
        self.hasOutput || self.requests.areToGoOn || self.reader.hasSeenEnd
    }

    /// Whether requests may be left that were not dealt with for lack of time.
    var hasUnserved: Bool { !self.lifecycle.isWaiting && self.reader.hasUnserved }

    /// Writes and then serves requests, as long as there is time; waits in line again for the rest.
    func takeTurn() {
        guard !self.lifecycle.isForgotten else { return }
        self.turn.begin()
        if self.lifecycle.isGone { self.carryOutRest() } else { self.flush() }
        let isToGoOn = self.turn.isCutShort && !self.lifecycle.isForgotten
        if isToGoOn { self.server.turns.enqueue(self) }
        // Setters wait for its changes to be written, but not for its other requests.
        let isBehind = self.parts.subscriptions.hasChangesToWrite || self.parts.waits.areBehind
        if !isToGoOn || !isBehind { self.server.tookTurn(self) }
    }

    /// Writes what there is, and goes on reading or closes if that is what it waited for.
    func flush(_ haste: ConnectionTurn.Haste = .turn) {
        self.pump(haste)
        if self.requests.areToGoOn || self.hasUnserved { self.serve() } else { self.finish() }
    }

    /// Goes on when the channel has written what the socket did not take.
    func hasRoom() {
        // A reader about to lose changes does not wait in line.
        if self.parts.subscriptions.isFarBehind, self.user.early({ self.flush(.urgent) }) {
            return
        }
        self.turn.want()
    }

    /// A set was decided after others had their turn.
    func setWasDecided() {
        if self.lifecycle.isGone { self.turn.want() } else { self.server.answered(self) }
    }

    // MARK: - Output

    /// Whether there may be something to write.
    var hasOutput: Bool {
        self.outbox.hasLines || self.parts.waits.areBehind || self.parts.subscriptions.isRunning
            || self.parts.voters.hasQuestions
    }

    /// Writes all that can be written now, as far as there is time.
    func pump(_ haste: ConnectionTurn.Haste = .turn) {
        switch haste {
        case .turn, .last: self.turn.write(haste) { self.writeAndJudge() }
        case .urgent:
            self.turn.write(haste) { self.write() }
            guard self.parts.waits.areBehind else { break }
            // Waits are judged no longer for it than in a turn.
            self.turn.write(.last(until: .now() + Turns.length)) { self.writeAndJudge() }
        }
        if self.outbox.isClosed { self.drop() }
    }

    /// Waits are judged also while the client does not read.
    private func writeAndJudge() {
        repeat {
            self.write()
        } while !self.turn.isCutShort
            && self.parts.waits.judge(until: self.server.limits.replyBytesPerConnection)
            && self.outbox.isFree
    }

    /// Writes watches first, then replies, and last questions, which nobody has asked for just now.
    ///
    /// Watches are brought up to the head of the ring, and the ring up to the reply, so that a reply that carries a seq
    /// comes after every change up to it.
    private func write() {
        while self.channel.isActive, self.outbox.isFree {
            guard !self.outbox.isMidLine || self.outbox.writeNext() else { return }
            guard self.parts.subscriptions.write() else { return }
            // A reply comes after every change up to it.
            guard !self.turn.isCutShort, !self.parts.subscriptions.isReadingPast else {
                return
            }
            guard self.parts.history.write() else { return }
            guard let seq = self.outbox.nextSeq else {
                self.parts.voters.writeQuestions()
                return
            }
            let head = self.server.ring.head
            if seq > head {
                self.server.catchUp()
                // If they are arriving right now, whoever delivers them writes this afterwards.
                guard self.server.ring.head > head else { return }
                continue
            }
            switch self.outbox.nextMark {
            case .start(let watch): watch.start()
            case .end(let watch): self.parts.subscriptions.remove(watch)
            case .history, nil: break
            }
            guard self.outbox.writeNext() else { return }
            guard !self.outbox.hasSegments || !self.turn.mustStop() else { return }
        }
    }

    /// Drops everything for the client, which no longer reads.
    ///
    /// The connection is not closed here: the client's input has yet to be dealt with, and its end
    /// has yet to be seen.
    private func drop() {
        self.outbox.close()
        self.parts.subscriptions.drop()
        self.parts.waits.drop()
        self.parts.voters.end()
    }

    // MARK: - End

    /// Why a client has to go.
    private enum Reason {
        /// There is no place for it, because of that limit.
        case noPlace(limit: String, max: Int)
        /// It has sent a line that is too long.
        case tooLong
        /// The daemon is going down.
        case daemonEnds(ServerLine.ByeReason)

        /// The line that says so.
        var line: [UInt8] {
            switch self {
            case .noPlace(let limit, let places):
                ServerLine.bye(.limit) { writer in
                    writer.string("limit", limit)
                    writer.number("max", places)
                    writer.number("retryMs", 1000)
                }
            case .tooLong: ServerLine.bye(.tooLong) { $0.number("max", RequestLimits.lineBytes) }
            case .daemonEnds(let reason):
                ServerLine.bye(reason) { writer in
                    if reason == .restart { writer.number("retryMs", ServerLimits.retryMs) }
                }
            }
        }
    }

    /// The client will send no more.
    func clientEnded() {
        self.reader.sawEnd()
        self.serve()
        // Also if requests are left because the client does not read its answers.
        self.parts.voters.end()
    }

    /// Ends the input: everything that the client sent has been dealt with.
    private func inputEnded() {
        switch self.lifecycle.inputEnded() {
        case .endImplicitWatch:
            if self.reader.hasBytes {
                let message = "the last line has no newline at its end, and was not carried out"
                self.outbox.reply(ServerLine.refusal(id: nil, WireError(.badRequest, message)))
            }
            self.parts.subscriptions.endImplicit()
            self.parts.voters.end()
            self.pump()
        case .close: self.close()
        case .ignore: break
        }
    }

    /// Tells the client why, and closes once that has been written, or the client is too slow to read it.
    private func leave(_ reason: Reason) {
        switch self.lifecycle.leave() {
        case .ignore: return
        case .sayBye: break
        }
        self.reader.clear()
        self.parts.voters.end()
        self.parts.subscriptions.leavePast()
        self.parts.history.leavePast()
        self.outbox.append(reason.line, replies: 0)
        self.channel.eventLoop.assumeIsolated().scheduleTask(
            in: .milliseconds(self.server.limits.farewellMs)
        ) { [weak parts = self.parts] in
            parts?.channel.close(promise: nil)
        }
    }

    /// Answers the waits and queues a goodbye, for ``writeLast(until:)`` and ``finishShutDown()``.
    func shutDown(_ reason: ServerLine.ByeReason) {
        guard !self.lifecycle.isGone else { return self.end() }
        // The last changes may have ended some of them.
        if self.parts.waits.areBehind { self.pump(.last(until: .now() + Turns.length)) }
        self.parts.waits.shutDown()
        self.leave(.daemonEnds(reason))
    }

    /// Writes what there is, at most until then; returns whether there was time for all of it.
    func writeLast(until end: NIODeadline) -> Bool {
        guard !self.lifecycle.isForgotten else { return true }
        self.turn.begin()
        self.pump(.last(until: end))
        return !self.turn.isCutShort
    }

    /// Closes once the goodbye is written; what there was no time for does not keep it waiting.
    func finishShutDown() {
        guard !self.lifecycle.isForgotten else { return }
        if self.turn.isCutShort {
            self.parts.subscriptions.drop()
            self.outbox.stopHistory()
        }
        self.parts.subscriptions.leavePast()
        self.parts.history.leavePast()
        self.flush(.urgent)
    }

    /// Closes if the connection was only waiting for its output to be written.
    private func finish() {
        guard self.outbox.isEmpty else { return }
        let hasPending = self.parts.hasPending
        switch self.lifecycle.flushed(hasPending: hasPending, hasSeenEOF: self.reader.hasSeenEnd) {
        case .close: self.close()
        case .linger: self.channel.close(mode: .output, promise: nil)
        case .ignore: break
        }
    }

    /// Closes the channel; the next process goes on with the socket.
    func leftBehind() {
        self.lifecycle.leftBehind()
        self.close()
    }

    private func close() { self.channel.close(promise: nil) }

    /// The channel is gone.
    func vanished() {
        self.drop()
        _ = self.reader.resume()
        switch self.lifecycle.vanished(hasRequests: self.requests.hasRest) {
        case .carryOutRest: self.turn.want()
        case .forget: self.end()
        }
    }

    /// Carries out what arrived before the client vanished, if it changes something.
    ///
    /// Nobody reads the answers.
    private func carryOutRest() {
        guard !self.reader.isPaused else { return }
        switch self.requests.carryOutRest() {
        case .done: self.end()
        case .waits: break
        case .outOfTime: self.turn.cutShort()
        case .behindReaders: self.pause()
        }
    }

    /// Forgets the connection; sets that are being decided are still decided.
    private func end() {
        guard !self.lifecycle.end() else { return }
        self.parts.sets.withdrawWaiting()
        self.server.remove(self)
        self.turn.close()
    }
}

extension Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        self.arrived()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received(self.unwrapInboundIn(data))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { self.clientEnded() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.parts.server.arrivals.whenAllAreHere { self.vanished() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Whatever it is, it concerns one client; the others are still served.
        context.close(promise: nil)
    }
}
