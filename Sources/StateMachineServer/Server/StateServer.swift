import Glibc
import NIOCore
import StateMachineCore
import StateMachineProtocol

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
    @exclusivity(unchecked) var limits: ServerLimits
    let ownPeer = Peer(uid: geteuid(), pid: getpid())
    let startedAt = NIODeadline.now()

    @exclusivity(unchecked) private(set) var ring: ChangeRing

    @exclusivity(unchecked) var counters = ServerCounters()

    /// Watches of all connections.
    @exclusivity(unchecked) var watches = 0 {
        didSet { self.status?.changed(watches: self.watches) }
    }

    /// Who has each hold and guard, by its number.
    @exclusivity(unchecked) var voters: [UInt64: Voters] = [:]

    /// The guards that are required, connected or not.
    let requirements: Requirements

    /// States by the bytes that asked for them.
    @exclusivity(unchecked) var decodedStates = DecodedStates()

    /// Where a line is put together before it goes into the ring or to its client.
    @exclusivity(unchecked) var line = LineWriter()

    /// Room for the replies of one write, kept between writes.
    @exclusivity(unchecked) var replies: [UInt8] = []

    /// Room for the vectors of one write, kept between writes.
    @exclusivity(unchecked) var vectors: [iovec] = []

    /// Where the machine is, as far as the ring knows.
    @exclusivity(unchecked) private(set) var snapshot: EncodedSnapshot

    /// Who brought it there, and why, as far as that is known.
    @exclusivity(unchecked) private var origin = Origin()

    /// What has declared the machine since this process has served it, in order; none of states that the
    /// program has in it.
    @exclusivity(unchecked) private(set) var declared: [Declared] = []

    /// What declares the machine next, perhaps; nil while nothing else is on its way.
    @exclusivity(unchecked) var nextSchema: StateSchema?

    /// Told of a change when everybody has been written to.
    @exclusivity(unchecked) private var status: StatusReporter?

    /// Told of all changes, as often.
    @exclusivity(unchecked) private var log: TransitionLogger?

    /// All that there are, each at its own ``Standing/place``.
    var connections: [Connection] = []
    /// What changes are held against.
    @exclusivity(unchecked) var waits = WaitTable()
    /// Whether the daemon is going down; then nothing is decided any more that is not decided yet.
    @exclusivity(unchecked) var isClosing = false
    /// What is to be done when all connections of the last process are here; nil: they are.
    var arriving: [() -> Void]?

    /// Sets that are not decided, those of clients that have gone included.
    @exclusivity(unchecked) var undecidedSets = 0

    var prepared = PreparedReplies()

    let turns: Turns
    /// Who has connections.
    var users: [UInt32: User] = [:]

    @exclusivity(unchecked) private var isFlushScheduled = false
    /// The newest seq when everybody was last written to.
    @exclusivity(unchecked) private var flushed: UInt64
    /// The newest seq when everybody was last given a turn to be written to, and how many have not had it.
    private var round: (head: UInt64, left: Int) = (0, 0)
    /// Whether there is more to be written than the round is about.
    private var isRoundDue = false
    /// The connections whose sets were answered, which are written to first.
    @exclusivity(unchecked) private var answered: [Connection] = []
    /// The newest seq that the log was told of.
    @exclusivity(unchecked) private var logged: UInt64
    /// The connections whose requests wait until everybody has been written to.
    @exclusivity(unchecked) private var paused: [Connection] = []
    var admission: Admission
    /// The last that a hold, a guard or a question was given.
    var lastNumber: UInt64 = 0
    /// Voters of connections that the next process goes on with; they count to the last moment.
    var leftVoters: [SocketVoter] = []
    var allGone: EventLoopPromise<Void>?

    /// - Precondition: called on `loop`.
    init(
        machine: any ServedMachine,
        loop: any EventLoop,
        limits: ServerLimits,
        past: Past? = nil,
        bell: PollBell
    ) {
        loop.preconditionInEventLoop()
        self.turns = Turns(on: loop, bell: bell)
        self.past = past
        self.epoch = past?.epoch ?? .random()
        self.loop = loop
        self.machine = machine
        self.requirements = Requirements(machine, on: loop, of: self.ownPeer.uid)
        self.limits = limits
        self.admission = Admission(limits: limits, ownUid: self.ownPeer.uid)
        let start = machine.observe()
        self.snapshot = start
        self.declared = machine.declaration.map { [Declared($0, from: start.seq)] } ?? []
        self.flushed = start.seq
        self.logged = start.seq
        self.ring = ChangeRing(
            changes: limits.ringChanges,
            bytes: limits.ringBytes,
            after: start.seq
        )
        // Nothing is told before this turn of the loop ends. ``stop()`` undoes the circles.
        machine.server = self
        self.turns.deadlinePassed = { self.leaveBehind() }
        if let past, start.seq > 0 { self.learnOrigin(of: start.seq, from: past) }
    }

    /// Reads who brought the machine where it was when the server began.
    private func learnOrigin(of seq: UInt64, from past: Past) {
        past.read(after: seq - 1, for: self.ownPeer.uid) { transitions in
            (transitions.first?.by, transitions.first?.cause)
        } done: { finding in
            guard let (by, cause) = finding.following(seq - 1), self.snapshot.seq == seq else {
                return
            }
            self.origin = Origin(by: by, cause: cause)
        }
    }

    // MARK: - Changes

    /// Ends it, when nobody is connected any more or nobody ever was: no transition is heard after this.
    func stop() {
        self.loop.preconditionInEventLoop()
        self.machine.stop()
        self.turns.stop()
    }

    /// Brings the ring up to all that has been committed.
    func catchUp() { self.machine.catchUp() }

    /// A state was entered: the ring has it from now on.
    func append(_ entered: EncodedSnapshot, by: CompactPeer?, cause: String?) {
        // Clients that set have been paused by now. The program is not, nor what a client sent before
        // it vanished, which is decided without waiting.
        if self.isAheadOfReaders { self.writeToReaders() }
        let left = exchange(&self.snapshot, with: entered)
        self.origin.note(by, cause: cause)
        ServerLine.writeChange(
            to: &self.line,
            self.report(of: entered),
            from: left.state.fragment,
            by: self.origin.by,
            cause: cause
        )
        self.line.withBytes { self.ring.append(entered, line: $0) }
        self.counters.changes.add()
        guard !self.waits.isEmpty else { return }
        for wait in self.waits.take(endedBy: entered.state) {
            wait.ended(by: entered)
        }
    }

    /// The deadline of the present stay has begun anew: who asks from now on is told.
    func renewed(_ stay: ServerLine.Stay) {
        guard self.snapshot.stay?.seq == stay.seq else { return }
        self.snapshot.stay = stay
    }

    /// Watches are told of that, after the changes up to it.
    func tell(_ declared: Declared) { self.declared.append(declared) }

    /// The machine looks as it did, and what is known of it is another, unless it has moved on.
    func showAgain(_ snapshot: EncodedSnapshot) {
        guard self.snapshot.seq == snapshot.seq else { return }
        self.snapshot = snapshot
    }

    /// The newest state that the ring knows.
    var report: ServerLine.Report { self.report(of: self.snapshot) }

    /// How the machine looked at one place in the order.
    func report(of snapshot: EncodedSnapshot) -> ServerLine.Report {
        ServerLine.Report(
            seq: snapshot.seq,
            fragment: snapshot.state.fragment,
            at: snapshot.at,
            epoch: self.epoch,
            stay: snapshot.stay
        )
    }

    /// Writes who brought the machine to that place, and why, if it is where it is now.
    func writeOrigin(of seq: UInt64, to writer: inout LineWriter) {
        guard seq == self.snapshot.seq else { return }
        if let by = self.origin.by { writer.peer(.by, by) }
        if let cause = self.origin.cause { writer.string(.cause, cause) }
    }

    /// Where a reader with that cursor goes on.
    func resumePoint(_ since: String) -> ResumePoint {
        ResumePoint(since: since, epoch: self.epoch, kept: self.first, head: self.ring.head)
    }

    /// The oldest change that is to be had.
    var first: UInt64 { min(self.ring.first, self.past?.first ?? .max) }

    /// Whether a kept change leads to a state that one of the patterns matches; nil means all.
    func isWanted(_ seq: UInt64, _ only: PatternList?) -> Bool {
        guard let only else { return true }
        let state = self.ring[seq].entered.state
        return only.contains(where: state.matches)
    }

    /// How far changes are held against patterns before it is asked whether there is time for more: as many
    /// changes as make so many comparisons.
    ///
    /// 256: some 25 µs if each takes as long as it can.
    func endOfPiece(after seq: UInt64, patterns: Int) -> UInt64 {
        min(self.ring.head, seq + max(1, 256 / UInt64(max(1, patterns))))
    }

    /// Whether there is more of what was asked for than the answer has shown, which has come to the next
    /// that is wanted.
    func hasMore(_ run: HistoryRun) -> Bool { run.cursor < run.end }

    /// Whether the newest state matches.
    func isCurrent(_ pattern: Pattern) -> Bool { self.snapshot.state.matches(pattern) }

    /// Has every connection write what there is, once this turn's transitions are all in the ring.
    func scheduleFlush() {
        guard !self.isFlushScheduled else { return }
        self.isFlushScheduled = true
        self.loop.assumeIsolated().execute {
            self.isFlushScheduled = false
            for connection in exchange(&self.answered, with: []) {
                connection.standing.isAnswered = false
                connection.flush(isUrgent: true)
            }
            self.beginRound()
            self.counters.report()
            self.tellLog()
            self.status?.changed(to: self.snapshot)
        }
    }

    /// Gives everybody who has something to write a turn, unless that is being done; then it is done again.
    private func beginRound() {
        guard self.round.left == 0 else {
            self.isRoundDue = true
            return
        }
        self.round.head = self.ring.head
        for connection in self.connections
        where connection.wantsTurn {
            connection.standing.isInRound = true
            self.round.left += 1
            self.turns.enqueue(connection)
        }
        if self.round.left == 0 { self.endRound() } else { self.turns.slice() }
    }

    /// The connection has been written to.
    func tookTurn(_ connection: Connection) {
        guard connection.standing.isInRound else { return }
        connection.standing.isInRound = false
        self.round.left -= 1
        if self.round.left == 0 { self.endRound() }
    }

    /// Has those who set wait no longer for readers of other users who are held to limits: what the ring loses
    /// before they have been written to, they are told of in a `resync` line.
    private func leaveBehind() {
        let setters = self.paused.map(\.user)
        for connection in self.connections where connection.standing.isInRound {
            let user = connection.user
            guard user.isLimited, !setters.contains(where: { $0 === user }) else { continue }
            self.tookTurn(connection)
        }
    }

    private func endRound() {
        self.flushed = max(self.flushed, self.round.head)
        if self.isRoundDue {
            self.isRoundDue = false
            self.scheduleFlush()
        }
        guard !self.paused.isEmpty else { return }
        let paused = exchange(&self.paused, with: [])
        self.turns.calm()
        self.loop.assumeIsolated().execute { for connection in paused { connection.resume() } }
    }

    /// A set of the connection was answered after others had their turn.
    func answered(_ connection: Connection) {
        guard !connection.standing.isAnswered else { return }
        connection.standing.isAnswered = true
        self.answered.append(connection)
    }

    /// Has everything logged that happens from now on.
    func log(to log: TransitionLogger) {
        self.logged = self.ring.head
        self.log = log
    }

    /// Has everything logged that has happened; returns when the log has taken that.
    func finishLog() async throws {
        let log = try await self.loop.submit {
            self.catchUp()
            self.tellLog()
            return self.log
        }.get()
        await log?.finish()
    }

    /// Has the log told of what it has not been told of.
    func tellLog() {
        guard let log = self.log, self.logged < self.ring.head else { return }
        log.log(
            self.ring,
            after: self.logged,
            through: self.snapshot,
            perSecond: self.limits.transitionsLoggedPerSecond
        )
        self.logged = self.ring.head
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

    /// Writes to everybody in the middle of a turn; who is held to limits may have to wait, and lose
    /// something.
    private func writeToReaders() {
        self.flushed = self.ring.head
        for connection in self.connections where connection.hasOutput {
            connection.user.urgently { connection.pump(isUrgent: true) }
        }
        self.tellLog()
    }

    /// Has the connection go on with its requests once everybody has been written to.
    func pause(_ connection: Connection) {
        self.paused.append(connection)
        self.turns.hurry()
        self.scheduleFlush()
    }
}
