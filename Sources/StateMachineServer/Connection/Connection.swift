import Glibc
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// One client: its lines in, its replies and watches out.
///
/// Belongs to the event loop; see ``StateServer`` for the exclusivity of its variables.
final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let server: StateServer
    let door: Door
    let peer: Peer
    let user: User
    let channel: any Channel
    let turn: Turn
    let outbox: Outbox
    let subscriptions: Subscriptions
    let history: HistoryAnswers
    let voters: Voters
    let waits: Waits
    let sets: Sets
    let order: WritingOrder

    /// Where the server keeps it.
    var place = 0

    @exclusivity(unchecked) var lifecycle = ConnectionLifecycle()
    /// A request that is to be answered after these.
    @exclusivity(unchecked) var deferred: [UInt8]?
    @exclusivity(unchecked) var inbound = InboundLines()
    private(set) var isReading = true
    /// Whether its requests wait until everybody has been written to.
    private var isPaused = false
    private(set) var hasSeenEOF = false
    /// Whether the client's end of the connection is closed, and only what changes something is carried
    /// out of what it sent before.
    private(set) var isGone = false
    /// Whether the server knows it no more.
    private var isForgotten = false

    /// Whether it waits for its turn, see ``Turns``.
    @exclusivity(unchecked) var isInLine = false
    /// Whether everybody has been written to only when it has had its turn.
    @exclusivity(unchecked) var isInRound = false
    /// Whether it is listed as one whose set was answered.
    @exclusivity(unchecked) var isAnswered = false

    /// Whether it has a place; a connection that is turned away has none to give back.
    private(set) var isAdmitted = false

    /// Whether it is served; before, what it sends is kept.
    private(set) var isOpen = false

    /// What the last process left of it, until it goes on with that.
    private var inheritance: Inheritance?
    typealias Inheritance = (record: HandOverRecord.Connection, handOver: HandOverRecord)

    init(
        server: StateServer,
        door: Door,
        peer: Peer,
        channel: any Channel,
        descriptor: CInt,
        inheriting inheritance: Inheritance? = nil
    ) {
        self.inheritance = inheritance
        self.server = server
        self.door = door
        self.peer = peer
        self.user = server.user(peer.uid)
        self.channel = channel
        self.turn = Turn(server.turns)
        self.outbox = Outbox(
            server: server,
            user: self.user,
            channel: channel,
            descriptor: descriptor,
            turn: self.turn
        )
        let kept = KeptRequests(server: server, user: self.user)
        self.voters = Voters(server: server, peer: peer, outbox: self.outbox, kept: kept)
        self.waits = Waits(
            server: server,
            peer: peer,
            outbox: self.outbox,
            turn: self.turn,
            kept: kept
        )
        self.sets = Sets(
            server: server,
            user: self.user,
            peer: peer,
            outbox: self.outbox,
            turn: self.turn
        )
        let changes = ChangeWriter(
            server: server,
            peer: peer,
            outbox: self.outbox,
            turn: self.turn
        )
        self.subscriptions = Subscriptions(changes, kept: kept)
        self.history = HistoryAnswers(changes)
        self.order = WritingOrder(
            server: server,
            channel: channel,
            turn: self.turn,
            outbox: self.outbox,
            subscriptions: self.subscriptions,
            history: self.history,
            waits: self.waits,
            voters: self.voters
        )
    }

    var hasOutput: Bool {
        self.order.hasOutput
    }

    /// Whether what kept it from being read is over; its answers may have been written already, in
    /// the middle of a turn.
    var isToReadAgain: Bool { !self.isReading && self.mayRead }

    // MARK: - What the channel says

    func channelActive(context: ChannelHandlerContext) {
        self.server.add(self)
        self.turn.open(for: self)
        if let (record, handOver) = self.inheritance.take() {
            self.server.admitAgain(self.peer.uid)
            self.isAdmitted = true
            self.goOn(with: record, of: handOver)
            self.isOpen = record.isOpen
            self.isPaused = true
            self.read(false)
            self.server.whenAllArrived {
                if !self.isOpen { self.open() }
                self.goOn()
            }
            context.fireChannelActive()
            return
        }
        switch self.server.admit(self.peer.uid, at: self.door) {
        case .admit(0):
            self.isAdmitted = true
            self.open()
        case .admit(let nanoseconds):
            // It has its place, but its user comes too fast: it is not read until its time.
            self.isAdmitted = true
            self.read(false)
            self.channel.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(nanoseconds)) {
                [weak self] in
                self?.open()
            }
        case .turnAway(let limit, let places):
            self.leave(.limit) { writer in
                writer.string("limit", limit)
                writer.number("max", places)
                writer.number("retryMs", 1000)
            }
            self.isOpen = true
            self.pump()
            if self.server.mayLinger {
                self.finish()
            } else {
                self.channel.close(promise: nil)
            }
        }
        context.fireChannelActive()
    }

    /// Begins to serve the client.
    private func open() {
        guard self.lifecycle.isListening, !self.outbox.isClosed else { return }
        self.isOpen = true
        if self.door.isWatchImplied {
            self.server.catchUp()
            self.subscriptions.beginImplicit()
        }
        self.serve()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isHungUp else { return self.channel.close(promise: nil) }
        guard self.lifecycle.isListening else { return }
        self.server.turns.arrived()
        self.inbound.append(self.unwrapInboundIn(data))
        guard self.door.takes(.set), self.server.users.count > 1 else { return self.serve() }
        let start = NIODeadline.now()
        self.serve()
        self.server.turns.setsTook(NIODeadline.now() - start)
    }

    /// Whether the client has gone and nothing would be carried out of what is still read from it: a channel
    /// reads all that there is once the other end is closed, be it to be read or not.
    private var isHungUp: Bool {
        guard !self.lifecycle.isListening || !self.isReading && !self.door.takes(.set) else {
            return false
        }
        return self.outbox.isHungUp
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            self.hasSeenEOF = true
            self.serve()
            // Also if the client, which does not read, has more to be dealt with.
            self.voters.end()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.server.whenAllArrived { self.vanished() }
        context.fireChannelInactive()
    }

    private func vanished() {
        self.order.drop()
        self.isGone = true
        self.isPaused = false
        // Before its time it is not served.
        if self.isOpen, self.hasRequests { self.turn.want() } else { self.end() }
    }

    /// Whether anything is left of what the client has sent that could change something.
    private var hasRequests: Bool {
        self.lifecycle.isListening && self.door.takes(.set) && !self.server.isClosing
            && (self.deferred != nil || self.inbound.hasLine)
    }

    /// Carries out what arrived before the client vanished and changes something; nobody hears the
    /// answers.
    private func carryOutRest() {
        while self.hasRequests {
            guard !self.mustWaitForReaders else {
                self.isPaused = true
                return self.server.pause(self)
            }
            // Once its sets are decided it goes on.
            guard self.mayRead else { break }
            guard self.turn.mayServe() else {
                self.turn.cutShort()
                return
            }
            guard self.handleNextLine() == .handled else { break }
        }
        self.sets.withdrawWaiting()
        if !self.hasRequests { self.end() }
    }

    /// Forgets it; sets that are being decided are decided nevertheless.
    func end() {
        guard !self.isForgotten else { return }
        self.isForgotten = true
        self.sets.withdrawWaiting()
        self.lifecycle.becameInactive()
        self.server.remove(self)
        self.turn.close()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Whatever it is, it concerns one client; the others are served on.
        context.close(promise: nil)
    }

    // MARK: - Lines in

    /// Deals with the requests that have arrived, as far as the client reads the answers, and other
    /// clients can be told of the changes.
    func serve() {
        guard self.isOpen, !self.isPaused, !self.isGone else { return }
        repeat {
            var step = Step.handled
            while self.lifecycle.isListening, self.mayRead, !self.mustWaitForReaders,
                step == .handled
            {
                step = self.handleNextLine()
            }
            self.pump(isUrgent: self.sets.takeHasSet())
            self.server.counters.report()
            guard step != .outOfTime else {
                self.turn.cutShort()
                self.turn.want()
                if self.inbound.count > Self.unservedBytes { self.read(false) }
                return
            }
            guard self.mayRead else {
                self.read(false)
                return
            }
            if self.lifecycle.isListening, self.mustWaitForReaders,
                self.deferred != nil || self.inbound.hasUnseen
            {
                self.isPaused = true
                self.server.pause(self)
                return
            }
        } while self.lifecycle.isListening && (self.deferred != nil || self.inbound.hasLine)
        self.read(true)
        if self.hasSeenEOF { self.inputEnded() }
        self.finish()
    }

    /// Whether a set would have readers lose changes that they have had no time for.
    private var mustWaitForReaders: Bool {
        self.server.isAheadOfReaders && self.door.takes(.set)
    }

    /// What a client may send while it waits for its turn, in bytes; past it it is not read.
    ///
    /// 4 KiB: some tens of requests, so that who sends few is not read off and on. Not tuned.
    private static var unservedBytes: Int { 4096 }

    /// Does what there is time for, of what it has to write and then of what it was sent; what is left has
    /// it wait in line again.
    func takeTurn() {
        guard !self.isForgotten else { return }
        self.turn.begin()
        if self.isGone {
            if !self.isPaused { self.carryOutRest() }
        } else {
            self.flush()
        }
        let isToGoOn = self.turn.isCutShort && !self.isForgotten
        if isToGoOn { self.server.turns.lineUp(self) }
        // What it has asked for besides keeps nobody waiting who sets.
        if !isToGoOn || !self.subscriptions.hasChangesToWrite { self.server.tookTurn(self) }
    }

    /// Everybody has been written to.
    func goOn() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.isGone { self.turn.want() } else { self.serve() }
    }

    /// Whether the client has few enough answers to come: such that it has not read, and such that
    /// wait for votes or for the disk.
    var mayRead: Bool {
        (self.deferred == nil || !self.sets.hasOrdered) && self.outbox.mayTakeMore
            && self.sets.mayTakeMore
    }

    /// What became of the next line.
    enum Step {
        case handled
        /// There is none that is whole.
        case none
        /// It is kept until the connection's turn comes.
        case outOfTime
    }

    /// Whether there are whole lines that were not dealt with, for lack of time.
    var hasUnserved: Bool {
        self.isOpen && !self.isPaused && (self.deferred != nil || self.inbound.hasUnseen)
    }

    /// Answers the next line, where it lies.
    private func handleNextLine() -> Step {
        if let line = self.deferred.take() { return line.withUnsafeBytes { self.handle($0) } }
        switch self.inbound.next() {
        case .line(let line): return line.withUnsafeReadableBytes { self.handle($0) }
        case .none: return .none
        case .tooLong:
            self.leave(.tooLong) { $0.number("max", RequestLimits.lineBytes) }
            return .none
        }
    }

    /// Writes what there is, and goes on reading or closes if that is what it waited for.
    func flush(isUrgent: Bool = false) {
        self.pump(isUrgent: isUrgent)
        if self.isToReadAgain || self.hasUnserved { self.serve() } else { self.finish() }
    }

    /// Writes all that can be written now.
    func pump(isUrgent: Bool = false) {
        self.turn.write(isUrgent: isUrgent) { self.order.write() }
        if self.outbox.isClosed { self.order.drop() }
    }

    /// The channel has written what the socket did not take.
    func hasRoom() {
        // Who is about to lose something does not wait in line.
        if self.subscriptions.isFarBehind, self.user.urgently({ self.flush(isUrgent: true) }) {
            return
        }
        self.turn.want()
    }

    private func read(_ isReading: Bool) {
        guard isReading != self.isReading, !self.lifecycle.isClosed else { return }
        self.isReading = isReading
        self.channel.setOption(.autoRead, value: isReading)
            .assumeIsolated()
            .whenFailure { _ in
                // The channel is closed; there is nothing more to read.
            }
    }
}
