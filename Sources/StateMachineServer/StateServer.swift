import Glibc
import NIOCore
import StateMachineCore
import StateMachineWire

/// What all connections share: the machine as the wire sees it, the ring, and who is connected.
///
/// The machine brings every transition to the event loop, where it is encoded once
/// and appended to the ring; then every connection with something to write is woken, once for however
/// many transitions have gathered.
///
/// `@unchecked Sendable`: everything here is touched on `loop` only. For the exclusivity of what every
/// change touches that is enough too, and a check at run time costs as much as the access.
final class StateServer: @unchecked Sendable {
    let loop: any EventLoop
    let machine: any ServedMachine
    let epoch: Epoch
    /// Where changes are that the ring does not have any more; nil: nowhere.
    let past: Past?
    private(set) var limits: ServerLimits
    let ownPeer = Peer(uid: geteuid(), pid: getpid())
    private let startedAt = NIODeadline.now()

    @exclusivity(unchecked) private(set) var ring: ChangeRing

    @exclusivity(unchecked) var counters = ServerCounters()

    /// Watches of all connections.
    var watches = 0 {
        didSet { self.status?.changed(watches: self.watches) }
    }

    /// The connections that have each hold, by its number.
    var holds: [UInt64: Connection] = [:]

    /// States by the bytes that asked for them.
    @exclusivity(unchecked) var decodedStates = DecodedStates()

    /// Where a line is put together before it goes into the ring or to its client.
    @exclusivity(unchecked) var line = LineWriter()

    /// Room for the replies of one write, kept between writes.
    var replies: [UInt8] = []

    /// Room for the vectors of one write, kept between writes.
    var vectors: [iovec] = []

    /// Where the machine is, as far as the ring knows.
    @exclusivity(unchecked) private(set) var snapshot: EncodedSnapshot

    /// Told of a change when everybody has been written to.
    private var status: StatusReporter?

    /// All that there are, each at its own ``Connection/place``.
    private var connections: [Connection] = []
    /// Those of them that have waits: each change is held against these.
    private var waiting: [ObjectIdentifier: Connection] = [:]
    /// Whether the daemon is going down; then nothing is decided any more that is not decided yet.
    private(set) var isClosing = false

    /// Sets that are not decided, those of clients that have gone included.
    var undecidedSets = 0

    private var isFlushScheduled = false
    /// The newest seq when everybody was last written to.
    private var flushed: UInt64
    /// The connections whose requests wait until everybody has been written to.
    private var paused: [Connection] = []
    private var admission: Admission
    /// The last that a hold, a guard or a question was given.
    private(set) var lastNumber: UInt64 = 0
    /// Voters of connections that the next process goes on with; they count to the last moment.
    private var leftVoters: [SocketVoter] = []
    private var allGone: EventLoopPromise<Void>?

    /// - Precondition: called on `loop`.
    init(
        machine: any ServedMachine,
        loop: any EventLoop,
        limits: ServerLimits,
        past: Past? = nil
    ) {
        loop.preconditionInEventLoop()
        self.past = past
        self.epoch = past?.epoch ?? .random()
        self.loop = loop
        self.machine = machine
        self.limits = limits
        self.admission = Admission(limits: limits, ownUid: self.ownPeer.uid)
        // Nothing is told before this turn of the loop ends, and by then the relay knows the server.
        let relay = Relay()
        let start = machine.observe(
            on: EventLoopContext(loop),
            afterBurst: { relay.server?.scheduleFlush() },
            task: { relay.server?.append($0) }
        )
        self.snapshot = start
        self.flushed = start.seq
        self.ring = ChangeRing(
            changes: limits.ringChanges,
            bytes: limits.ringBytes,
            after: start.seq
        )
        relay.server = self
    }

    /// Leads from the machine's receptionist to the server, which begins where that did.
    ///
    /// ``StateServer/stop()`` undoes the circle.
    ///
    /// `@unchecked Sendable`: touched on `loop` only, as the server is.
    private final class Relay: @unchecked Sendable {
        var server: StateServer?
    }

    // MARK: - Changes

    /// Ends it, when nobody is connected any more or nobody ever was: no transition is heard after this.
    func stop() {
        self.loop.preconditionInEventLoop()
        self.machine.stop()
    }

    /// Brings the ring up to all that has been committed.
    func catchUp() { self.machine.catchUp() }

    private func append(_ transition: EncodedTransition) {
        // Clients that set have been paused by now. The program is not, nor what a client sent before
        // it vanished, which is decided without waiting.
        if self.isAheadOfReaders { self.writeToReaders() }
        let entered = EncodedSnapshot(
            seq: transition.seq,
            state: transition.new,
            at: transition.at
        )
        let left = exchange(&self.snapshot, with: entered)
        ServerLine.writeChange(
            to: &self.line,
            self.report(of: entered),
            from: left.state.fragment,
            by: transition.by,
            cause: transition.cause
        )
        self.line.withBytes { self.ring.append(entered, line: $0) }
        self.counters.changes.add()
        guard !self.waiting.isEmpty else { return }
        for connection in self.waiting.values {
            connection.judgeWaits(self.report, transition.new)
        }
    }

    /// The newest state that the ring knows.
    var report: ServerLine.Report { self.report(of: self.snapshot) }

    /// How the machine looked at one place in the order.
    func report(of snapshot: EncodedSnapshot) -> ServerLine.Report {
        ServerLine.Report(
            seq: snapshot.seq,
            fragment: snapshot.state.fragment,
            at: snapshot.at,
            epoch: self.epoch
        )
    }

    /// Where a reader with that cursor goes on.
    func resumePoint(_ since: String) -> ResumePoint {
        ResumePoint(since: since, epoch: self.epoch, kept: self.first, head: self.ring.head)
    }

    /// The oldest change that is to be had.
    var first: UInt64 { min(self.ring.first, self.past?.first ?? .max) }

    /// Whether a kept change leads to a state that one of the patterns matches; nil means all.
    func isWanted(_ seq: UInt64, _ only: [Pattern]?) -> Bool {
        guard let only else { return true }
        let state = self.ring[seq].entered.state
        return only.contains(where: state.matches)
    }

    /// Whether there is more of what was asked for than the answer has shown.
    func hasMore(_ run: HistoryRun) -> Bool {
        guard run.cursor < run.end else { return false }
        // Of what lies before the ring it is not known what is wanted; that can be asked.
        guard self.ring.reaches(back: run.cursor) else { return self.past != nil }
        return (run.cursor + 1...run.end).contains { self.isWanted($0, run.only) }
    }

    /// Whether the newest state matches.
    func isCurrent(_ pattern: Pattern) -> Bool { self.snapshot.state.matches(pattern) }

    /// Has every connection write what there is, once this turn's transitions are all in the ring.
    func scheduleFlush() {
        guard !self.isFlushScheduled else { return }
        self.isFlushScheduled = true
        self.loop.assumeIsolated().execute {
            self.isFlushScheduled = false
            self.flushed = self.ring.head
            for connection in self.connections
            where connection.hasOutput || connection.isToReadAgain {
                connection.flush()
            }
            let paused = self.paused
            self.paused = []
            for connection in paused { connection.goOn() }
            self.counters.report()
            self.status?.changed(to: self.snapshot)
        }
    }

    /// Has the reporter told of the state, now and when it changes.
    func show(to status: StatusReporter) {
        self.status = status
        status.changed(watches: self.watches)
        status.changed(to: self.snapshot)
    }

    /// Whether one turn of the loop has made so many changes that readers who read would lose some if
    /// they were not written to before more are made.
    var isAheadOfReaders: Bool { self.ring.isHalfFull(after: self.flushed) }

    /// Keeps the room that replies took for the next ones.
    ///
    /// Of a quarter of a megabyte at most, which is what a few replies with long states take.
    func keepRoom(_ bytes: inout [UInt8]) {
        guard bytes.capacity <= 1 << 18, bytes.capacity > self.replies.capacity else { return }
        bytes.removeAll(keepingCapacity: true)
        self.replies = exchange(&bytes, with: [])
    }

    /// Writes to everybody in the middle of a turn.
    private func writeToReaders() {
        self.flushed = self.ring.head
        for connection in self.connections where connection.hasOutput { connection.pump() }
    }

    /// Has the connection go on with its requests once everybody has been written to.
    func pause(_ connection: Connection) {
        self.paused.append(connection)
        self.scheduleFlush()
    }

    // MARK: - Connections

    /// All of them, in no order.
    var clients: some Sequence<Connection> { self.connections }

    /// How long the server has been there, in milliseconds.
    var uptimeMs: Int64 { (NIODeadline.now() - self.startedAt).nanoseconds / 1_000_000 }

    /// A number for a hold, a guard or a question; none is given twice.
    func nextNumber() -> UInt64 {
        self.lastNumber += 1
        return self.lastNumber
    }

    /// Whether a connection that is turned away may stay until its client has read why.
    ///
    /// 64 at a time: enough for those who come by mistake, and a crowd takes no more descriptors.
    var mayLinger: Bool { self.connections.count - self.admission.total <= 64 }

    /// Whether a user's connection has a place, and from when on.
    func admit(_ uid: UInt32) -> Admission.Decision {
        let now = Int64(NIODeadline.now().uptimeNanoseconds)
        let decision = self.admission.arrived(uid, at: now)
        switch decision {
        case .admit: self.counters.accepted.add()
        case .turnAway: self.counters.turnedAway.add()
        }
        return decision
    }

    func add(_ connection: Connection) {
        connection.place = self.connections.count
        self.connections.append(connection)
    }

    func remove(_ connection: Connection) {
        // The last one takes its place.
        let last = self.connections.removeLast()
        if last !== connection {
            last.place = connection.place
            self.connections[connection.place] = last
        }
        if connection.isAdmitted {
            self.admission.left(
                connection.peer.uid,
                at: Int64(NIODeadline.now().uptimeNanoseconds)
            )
        }
        if self.connections.isEmpty { self.allGone?.succeed() }
    }

    /// Puts other limits in force; returns the names of those that have to wait for the next start.
    ///
    /// Who has more than the new limits allow keeps it.
    func apply(_ new: ServerLimits) -> [String] {
        var limits = new
        limits.ringChanges = self.limits.ringChanges
        limits.ringBytes = self.limits.ringBytes
        let later = zip(new.all, limits.all).filter { $0.value != $1.value }.map(\.0.name)
        self.limits = limits
        self.admission.limits = limits
        return later
    }

    /// A connection of the last process, which had its place there.
    func admitAgain(_ uid: UInt32) { self.admission.returned(uid) }

    /// Keeps clear of the numbers that the last process gave out.
    func skipNumbers(through number: UInt64) { self.lastNumber = max(self.lastNumber, number) }

    func keep(_ voters: [SocketVoter]) { self.leftVoters += voters }

    /// Has changes held against the waits of a connection, or no longer.
    func waits(of connection: Connection, areThere: Bool) {
        self.waiting[ObjectIdentifier(connection)] = areThere ? connection : nil
    }

    /// Tells every client that the daemon is going; done when all connections are closed.
    func sayGoodbye(_ reason: ServerLine.ByeReason) -> EventLoopFuture<Void> {
        self.loop.preconditionInEventLoop()
        let promise = self.allGone ?? self.loop.makePromise(of: Void.self)
        self.allGone = promise
        self.stopDeciding {
            for connection in self.connections { connection.shutDown(reason) }
            if self.connections.isEmpty { promise.succeed() }
        }
        return promise.futureResult
    }

    /// Has nothing decided any more, and then does what is to be done with the connections.
    func stopDeciding(then body: @escaping @Sendable () -> Void) {
        self.isClosing = true
        for connection in self.connections { connection.withdrawSets() }
        // What is being committed will have happened, and is answered as such.
        self.machine.afterCommits {
            self.catchUp()
            // All sets are answered before the first guard is let go, which would decide them.
            for connection in self.connections { connection.refuseSets() }
            body()
        }
    }
}
