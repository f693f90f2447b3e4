import NIOCore
import StateMachineCore
import StateMachineProtocol

/// One client: connects reading its requests to carrying them out and to writing the answers.
///
/// Reading and closing go through the channel, writing past it (see ``Output``).
///
/// Belongs to the event loop.
final class Connection {
    let server: StateServer
    let door: Door
    let peer: Peer
    let user: User
    private let channel: any Channel

    @exclusivity(unchecked) var input = Input()
    let output: Output
    let watches: Watches
    let history: HistoryAnswers
    let waits: Waits
    let voters: HoldsAndGuards
    let sets: Sets

    /// How far it is with a cursor that is not known at this host, of the request that comes next.
    var cursorCheck = CursorCheck.none
    @exclusivity(unchecked) private(set) var lifecycle = ConnectionLifecycle()
    /// Its standing in the server's lists and turns.
    @exclusivity(unchecked) var standing = Standing()
    /// What it resumes from; nil once it has.
    private var inheritance: ConnectionInheritance?

    init(
        server: StateServer,
        door: Door,
        peer: Peer,
        channel: any Channel,
        descriptor: CInt,
        inheriting inheritance: ConnectionInheritance? = nil
    ) {
        let user = server.users.account(of: peer.uid)
        let peer = user.sharing(peer)
        let output = Output(
            server: server,
            peer: peer,
            user: user,
            channel: channel,
            descriptor: descriptor
        )
        let standing = StandingRequests(server: server, user: user)
        self.server = server
        self.door = door
        self.peer = peer
        self.user = user
        self.channel = channel
        self.output = output
        self.watches = Watches(output, standing)
        self.history = HistoryAnswers(output)
        self.waits = Waits(output, standing)
        self.voters = HoldsAndGuards(output, standing)
        self.sets = Sets(output)
        self.inheritance = inheritance
        if door.takes(.set) { output.readCredentials() }
    }

    /// Reads who the client is, as another file may say who may do what.
    func readCredentials() {
        if self.door.takes(.set), self.channel.isActive { self.output.readCredentials() }
    }

    /// How much is read of a client at a time; its channel keeps a buffer of that size once it has sent anything.
    ///
    /// 512 bytes at first: a few requests. Who sends more has twice as much read each time, as NIO does it, up to its 64 KiB.
    static let allocator = AdaptiveRecvByteBufferAllocator(
        minimum: 256,
        initial: 512,
        maximum: 64 << 10
    )

    // MARK: - Arrival

    /// Takes up the connection, now that its channel is active.
    func arrived() {
        self.server.add(self)
        self.output.beginTurns(of: self)
        if let inheritance = self.inheritance.take() {
            let (record, handOver) = (inheritance.record, inheritance.handOver)
            self.server.users.admitAgain(self.peer.uid)
            self.lifecycle.admitted()
            self.resume(with: record, of: handOver)
            if self.output.isClosed { self.drop() }
            if record.isOpen { _ = self.lifecycle.timeCame() }
            self.input.isPaused = true
            self.read(false)
            return self.server.arrivals.whenAllAreHere {
                if self.lifecycle.isWaiting { self.open() }
                self.resume()
            }
        }
        switch self.server.admit(self.peer.uid, at: self.door) {
        case .admit(0):
            self.lifecycle.admitted()
            self.open()
        case .admit(let nanoseconds):
            // It has its slot, but its user connects too fast: it is not read before its time.
            self.lifecycle.admitted()
            self.read(false)
            self.channel.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(nanoseconds)) {
                [weak self] in
                self?.open()
            }
        case .turnAway(let limit, let slots):
            self.dismiss(
                ServerLine.bye(.limit) { writer in
                    writer.string("limit", limit)
                    writer.number("max", slots)
                    writer.number("retryMs", 1000)
                }
            )
            self.pump()
            if self.server.mayLinger { self.flushed() } else { self.close() }
        }
    }

    /// Begins to serve the client.
    private func open() {
        guard !self.output.isClosed, self.lifecycle.timeCame() else { return }
        if self.door.isWatchImplied { self.beginImpliedWatch() }
        self.serve()
    }

    /// Begins the watch that the door implies, once it is known where the machine is.
    private func beginImpliedWatch() {
        guard let sharing = self.server.sharing, !sharing.isPlaced else {
            self.server.catchUp()
            return self.watches.start(WatchCall(), id: nil, [])
        }
        self.output.append(
            ServerLine.shared(id: nil, sharing.trouble ?? .engine, nil),
            replies: 0
        )
        sharing.whenPlaced { [weak self] in
            guard let self, self.lifecycle.isListening else { return }
            self.watches.start(WatchCall(), id: nil, [], wasAway: true)
            self.output.want()
        }
    }

    // MARK: - Input

    /// Takes what the client has sent.
    func received(_ bytes: ByteBuffer) {
        guard !self.isHungUp else { return self.close() }
        guard self.lifecycle.isListening else { return }
        self.server.turns.arrived()
        self.input.received(bytes)
        self.serve()
    }

    /// Whether the client has hung up, and nothing more of its input would be carried out.
    ///
    /// Once the other end is closed a channel reads all that there is, even while reading is off.
    private var isHungUp: Bool {
        (!self.lifecycle.isListening || !self.input.isRead && !self.door.takes(.set))
            && self.output.isHungUp
    }

    /// Carries out the requests that have arrived.
    ///
    /// It stops if the client does not read the answers or readers cannot keep up with the changes. Of a client that is
    /// gone it carries out what changes something; nobody reads the answers.
    func serve() {
        defer { self.chargeInput() }
        guard self.lifecycle.mayServe, !self.input.isPaused else { return }
        self.server.turns.wake(self)
        repeat {
            var step = Step.handled
            while self.lifecycle.isListening, self.mayHandleNext, step == .handled {
                step = self.handleNext()
            }
            if self.lifecycle.isGone, !self.hasRest { return self.forget() }
            if step == .tooLong {
                self.dismiss(ServerLine.bye(.tooLong) { $0.number("max", RequestLimits.lineBytes) })
            }
            self.pump(until: self.sets.takeHasSet() ? .distantFuture : nil)
            self.server.counters.report()
            guard step != .outOfTime else {
                self.output.cutShort()
                self.output.want()
                if self.input.isFull { self.read(false) }
                return
            }
            guard self.mayGoOn else {
                if self.lifecycle.isGone { self.sets.withdrawWaiting() }
                return self.read(false)
            }
            if self.lifecycle.isListening, self.mustWaitForReaders, self.input.hasUnseen {
                return self.pause()
            }
        } while self.lifecycle.isListening && self.input.hasLine
        self.read(true)
        if self.input.hasSeenEnd { self.inputServed() }
        self.flushed()
    }

    /// Nothing that the client has sent is dealt with any more.
    private func dropInput() {
        self.input.clear()
        self.input.charge(to: self.user)
    }

    /// Charges what is left of the input to the user.
    ///
    /// Past the user's limit the client is read again once its requests that are here have been carried out; a line that
    /// has begun is read to its end, which is never far.
    private func chargeInput() {
        self.input.charge(to: self.user)
        if !self.user.mayReceive(within: self.server.limits), self.input.hasLine {
            self.read(false)
        }
    }

    /// Starts or stops reading the client.
    private func read(_ isRead: Bool) {
        guard isRead != self.input.isRead else { return }
        self.input.isRead = isRead
        self.channel.setOption(.autoRead, value: isRead)
            .assumeIsolated()
            .whenFailure { _ in
                // The channel is closed; there is nothing more to read.
            }
    }

    private func pause() {
        self.input.isPaused = true
        self.server.pause(self)
    }

    /// Goes on after a pause: everybody has been written to.
    func resume() {
        if exchange(&self.input.isPaused, with: false) { self.serve() }
    }

    // MARK: - Turns

    /// Whether it has something to do in a round of turns.
    var wantsTurn: Bool {
        self.hasOutput || self.mayReadAgain || self.input.hasSeenEnd
    }

    /// Whether nothing concerns it before one of its readers is found, or it is sent something.
    var isAtRest: Bool {
        self.input.isRead && !self.input.isPaused && !self.lifecycle.isWaiting
            && !self.input.hasUnseen && self.watches.areAtRest && self.waits.areAtRest
    }

    /// Whether requests may be left that were not dealt with for lack of time.
    var hasUnserved: Bool {
        !self.lifecycle.isWaiting && !self.input.isPaused && self.input.hasUnseen
    }

    /// Writes and then serves requests, as long as there is time; waits in line again for the rest.
    func takeTurn() {
        guard !self.lifecycle.isForgotten else { return }
        self.output.beginTurn()
        self.flush()
        let isToGoOn = self.output.isCutShort && !self.lifecycle.isForgotten
        if isToGoOn { self.server.turns.enqueue(self) }
        // Setters wait for its changes to be written, but not for its other requests.
        let isBehind = self.watches.hasChangesToWrite || self.waits.areBehind
        if !isToGoOn || !isBehind { self.server.turns.tookTurn(self) }
    }

    /// Writes what there is, and goes on reading or closes if that is what it waited for.
    func flush(until end: NIODeadline? = nil) {
        self.pump(until: end)
        if self.mayReadAgain || self.hasUnserved { self.serve() } else { self.flushed() }
    }

    /// Goes on when the channel has written what the socket did not take.
    func hasRoom() {
        // A reader about to lose changes does not wait in line.
        if self.watches.isFarBehind, self.user.early({ self.flush(until: $0) }) {
            return
        }
        self.output.want()
    }

    // MARK: - Output

    /// Whether there may be something to write.
    var hasOutput: Bool {
        self.output.hasLines || self.waits.areBehind || self.watches.areBehind
            || self.voters.hasQuestions
    }

    /// Writes all that can be written until then; nil: in the connection's turn.
    func pump(until end: NIODeadline? = nil) {
        self.output.write(until: end) {
            guard self.hasFoundReaders() else { return }
            self.write()
            guard self.waits.areBehind, !self.output.isCutShort else { return }
            // Waits are judged also while the client does not read, and no longer than in a turn.
            self.output.write(until: end.map { min($0, .now() + Turns.length) }) {
                let limit = self.server.limits.replyBytesPerConnection
                while !self.output.isCutShort, self.waits.judge(until: limit), self.output.isFree {
                    self.write()
                }
            }
        }
        if self.output.isClosed { self.drop() }
    }

    /// Whether those of its readers are awake that something has happened to, which is looked for here.
    private func hasFoundReaders() -> Bool {
        !self.watches.haveResting && !self.waits.haveResting || self.output.search()
    }

    /// Writes watches first, then replies, and last questions, which nobody has asked for just now.
    ///
    /// Watches are brought up to the head of the ring, and the ring up to the reply, so that a reply that carries a seq
    /// comes after every change up to it.
    private func write() {
        while self.channel.isActive, self.output.isFree {
            guard !self.output.isMidLine else {
                self.output.writeNext()
                continue
            }
            guard self.hasFoundReaders() else { return }
            self.watches.write()
            // A reply comes after every change up to it.
            guard self.output.isFree, !self.output.isCutShort, !self.watches.isReadingPast else {
                return
            }
            self.history.write()
            guard self.output.isFree, self.output.run == nil else { return }
            guard let seq = self.output.nextSeq else {
                self.voters.writeQuestions()
                return
            }
            let head = self.server.past.ring.head
            if seq > head {
                self.server.catchUp()
                // During a delivery `catchUp()` does nothing; the flush after the delivery writes this reply.
                guard self.server.past.ring.head > head else { return }
                continue
            }
            switch self.output.nextMark {
            case .start(let watch): watch.start()
            case .end(let watch): self.watches.remove(watch)
            case .history, nil: break
            }
            self.output.writeNext()
            if self.output.isFree, self.output.hasLines, self.output.mustStop() { return }
        }
    }

    /// Drops everything for the client, which no longer reads.
    ///
    /// The connection is not closed here: the client's input has yet to be dealt with, and its end
    /// has yet to be seen.
    private func drop() {
        self.output.close()
        self.watches.drop()
        self.waits.drop()
        self.voters.end()
    }

    // MARK: - End

    /// The client will send no more.
    func inputClosed() {
        self.input.hasSeenEnd = true
        self.serve()
        // Also if requests are left because the client does not read its answers.
        self.voters.end()
    }

    /// Ends the input: everything that the client sent has been dealt with.
    private func inputServed() {
        switch self.lifecycle.inputServed() {
        case .endImplicitWatch:
            if self.input.hasBytes {
                let message = "the last line has no newline at its end, and was not carried out"
                self.output.reply(ServerLine.refusal(id: nil, WireError(.badRequest, message)))
            }
            self.watches.endImplicit()
            self.voters.end()
            self.pump()
        case .close: self.close()
        case .ignore: break
        }
    }

    /// Tells the client why, and closes once that has been written, or the client is too slow to read it.
    private func dismiss(_ bye: [UInt8]) {
        guard self.lifecycle.dismiss() else { return }
        self.dropInput()
        self.voters.end()
        self.watches.stopReadingPast()
        self.history.stopReadingPast()
        self.output.append(bye, replies: 0)
        self.channel.eventLoop.assumeIsolated().scheduleTask(
            in: .milliseconds(self.server.limits.farewellMs)
        ) { [weak self] in
            self?.close()
        }
    }

    /// Ends it if it has holds or guards, which are gone with the host's session.
    func sessionEnded() {
        guard !self.voters.isEmpty else { return }
        self.waits.drop()
        // What it has asked for will not be there.
        self.output.dropLateReply()
        self.dismiss(ServerLine.bye(.session))
        self.output.beginTurn()
        self.pump()
        self.flushed()
    }

    /// Answers the waits and queues a goodbye, for ``writeLast(until:)`` and ``flushLast()``.
    func dismiss(for reason: ServerLine.ByeReason) {
        guard !self.lifecycle.isGone else { return self.forget() }
        // The last changes may have ended some of them.
        if self.waits.areBehind { self.pump(until: .now() + Turns.length) }
        self.waits.shutDown()
        self.dismiss(
            ServerLine.bye(reason) { writer in
                if reason == .restart { writer.number("retryMs", ServerLimits.retryMs) }
            }
        )
    }

    /// Writes what there is, at most until then; returns whether there was time for all of it.
    func writeLast(until end: NIODeadline) -> Bool {
        guard !self.lifecycle.isForgotten else { return true }
        self.output.beginTurn()
        self.pump(until: end)
        return !self.output.isCutShort
    }

    /// Closes once the goodbye is written; what there was no time for does not keep it waiting.
    func flushLast() {
        guard !self.lifecycle.isForgotten else { return }
        if self.output.isCutShort {
            self.watches.drop()
            self.output.stopHistory()
        }
        self.watches.stopReadingPast()
        self.history.stopReadingPast()
        self.flush(until: .distantFuture)
    }

    /// Closes if the connection was only waiting for its output to be written.
    private func flushed() {
        guard self.output.isEmpty else { return }
        let hasPending =
            self.watches.count > 0 || self.waits.count > 0 || self.sets.count > 0
            || self.output.owesLateReply
        switch self.lifecycle.flushed(hasPending: hasPending, hasSeenEOF: self.input.hasSeenEnd) {
        case .close: self.close()
        case .linger: self.channel.close(mode: .output, promise: nil)
        case .ignore: break
        }
    }

    /// Closes the channel; the next process goes on with the socket.
    func handedOver() {
        self.lifecycle.handedOver()
        self.close()
    }

    private func close() { self.channel.close(promise: nil) }

    /// The channel is gone.
    func vanished() {
        self.drop()
        self.input.isPaused = false
        if self.lifecycle.vanished(hasRequests: self.hasRest) {
            self.output.want()
        } else {
            self.forget()
        }
    }

    /// Forgets the connection; sets that are being decided are still decided.
    private func forget() {
        guard !self.lifecycle.forget() else { return }
        self.dropInput()
        self.sets.withdrawWaiting()
        self.server.remove(self)
        self.output.endTurns()
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
        if let event = event as? ChannelEvent, event == .inputClosed { self.inputClosed() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.server.arrivals.whenAllAreHere { self.vanished() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Whatever it is, it concerns one client; the others are still served.
        context.close(promise: nil)
    }
}
