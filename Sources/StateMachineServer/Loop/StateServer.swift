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
/// Belongs to the event loop. `@unchecked Sendable` for that: everything here is touched on `loop` only.
final class StateServer: @unchecked Sendable {
    let loop: any EventLoop
    let machine: Machine
    /// How states are shown.
    ///
    /// Each is shown, and goes on, as what declares it says: so that this holds on any thread, whatever is in
    /// force.
    let states: Schema
    /// See ``Schema/entrance(seeing:)``.
    let entrance: Move.Entrance?
    /// What is seen of other machines.
    let sight = SightBox()
    /// How states are asked for and described: what is in force now.
    private(set) var schema: Schema {
        didSet { self.recent = RecentStates() }
    }
    /// Of what is in force.
    @exclusivity(unchecked) var recent = RecentStates()
    /// The server's way through what the machine does.
    let cursor: Drain
    private let registration: Registration
    /// What the cursor calls.
    private let listener: Listener
    /// Nil of a machine that is this host's alone.
    let sharing: Sharing?
    /// How often it was told that a shared machine is up or down.
    private var standings: UInt64 = 0
    /// Nil of a machine that has no stays.
    let stays: Stays?
    /// Nil where nobody follows other machines.
    private(set) var links: Links?
    /// How long the loop waits for the disk.
    var spin = AdaptiveSpin()
    var epoch: Epoch { self.past.epoch }
    /// All changes that can be read, the newest in the ring.
    let past: Past
    private(set) var limits: ServerLimits
    /// How many connections there are descriptors for.
    let slots: Int
    let ownPeer = Peer(uid: geteuid(), pid: getpid())
    let startedAt = NIODeadline.now()

    @exclusivity(unchecked) var counters = ServerCounters()

    /// Watches of all connections.
    private var watches = 0

    /// All holds and guards.
    private(set) lazy var voters = Voters(self)

    /// Where lines are put together.
    let scratch = ScratchBuffers()

    /// Where the machine is, as far as the ring knows.
    @exclusivity(unchecked) private(set) var snapshot: Place
    /// What time will do there.
    @exclusivity(unchecked) private var due: ServerLine.Due?
    /// Who brought it there, and why, as far as that is known.
    @exclusivity(unchecked) private var origin: Origin?
    /// When its stay began; nil if that was before this run.
    private var beganStay: WallTime?

    /// How long ago changes were made.
    private var ages: ChangeAges
    let clock: any StayClock

    /// Reads the settings and the machine's file again, and calls back on the loop; nil where that is nobody's work.
    var reload: ((@escaping @Sendable (ReloadResult) -> Void) -> Void)?

    /// When the numbering began, which is when the initial state was entered; nil if that was before this run.
    private(set) var began: WallTime?

    /// What logs changes, and the newest that it has been told of.
    private var log: TransitionLogger?
    private var logged: UInt64
    /// What shows the newest state, once everybody has been written to.
    private var status: StatusReporter?

    /// Whether the daemon is shutting down; then nothing is decided any more that is not decided yet.
    private(set) var isClosing = false
    /// Connections of the last process that are on their way here.
    let arrivals = Arrivals()

    /// Why the last change could not be recorded; nil if it could.
    var trouble: String?

    /// Sets that are not decided, those of clients that have gone included.
    var undecidedSets = 0

    /// Answers to `describe`, which are the same for everybody at a door, and are made once for each schema.
    var descriptions: [Door: [UInt8]] = [:]

    /// Who is connected, whose turn it is, and how far everybody has been written to.
    let turns: Turns
    let users: Users

    @exclusivity(unchecked) private var isFlushScheduled = false

    /// - Precondition: called on `loop`, once it is known where the machine is, unless others share it.
    init(
        machine: Machine,
        schema: Schema,
        loop: any EventLoop,
        limits: ServerLimits,
        slots: Int = .max,
        disk: HistoryReader? = nil,
        bell: LoopBell,
        clock: any StayClock = KernelClock(),
        watcher: (any LinkWatcher)? = nil,
        sharing: (any MachineSharing)? = nil
    ) {
        loop.preconditionInEventLoop()
        precondition(
            machine.isPlaced || sharing != nil,
            "nobody is served before it is known where the machine is"
        )
        self.sharing = sharing.map { Sharing($0) }
        self.loop = loop
        self.machine = machine
        self.states = schema
        self.entrance = schema.entrance(seeing: self.sight)
        self.schema = schema
        self.limits = limits
        self.slots = slots
        self.users = Users(limits: limits, ownUid: self.ownPeer.uid)
        machine.findVoters(at: { schema.buckets(of: $0) }, on: { schema.stretches(of: $0) })
        // From here on every change comes to ``append(_:)`` on the loop, whoever made it and wherever it was recorded.
        let listener = Listener()
        let (registration, cursor, place) = machine.follow(
            on: EventLoopContext(loop),
            burstEnd: { listener.server?.endBurst() },
            { listener.server?.append($0) }
        )
        (self.listener, self.registration, self.cursor) = (listener, registration, cursor)
        let stays =
            !schema.hasStays
            ? nil
            : Stays(
                of: machine,
                from: place,
                schema,
                sharedBy: self.sharing,
                seeing: self.sight,
                after: disk?.history.beginning,
                clock: clock,
                on: loop,
                at: cursor
            )
        self.stays = stays
        self.snapshot = place
        self.due = stays?.due(at: place)
        self.beganStay = place.stay == place.seq ? place.at : nil
        self.clock = clock
        self.began = place.seq == 0 ? place.at : nil
        self.ages = ChangeAges(clock.moment, head: place.seq)
        self.logged = place.seq
        self.turns = Turns(on: loop, bell: bell, after: place.seq)
        self.past = Past(
            ring: ChangeRing(
                changes: limits.ringChanges,
                bytes: limits.ringBytes,
                after: place.seq
            ),
            declarations: schema.declaration.map { [Declared(declaration: $0, seq: place.seq)] }
                ?? [],
            disk: disk
        )
        // Nothing is told before this turn of the loop ends. ``stop()`` undoes the circles.
        listener.server = self
        self.turns.flush = { self.scheduleFlush() }
        self.turns.search = { self.search(for: $0, until: $1) }
        if let watcher, schema.hasStays {
            let cursors = disk?.history.beginning.links
            self.links = Links(of: self, seeing: self.sight, by: watcher, after: cursors)
            self.stays?.freed = { [unowned self] in self.links?.tryAgain() }
        }
        if machine.isPlaced { self.sharing?.placed() }
        guard let last = disk?.history.beginning.newest, last.seq == place.seq else { return }
        self.origin = last.origin
    }

    // MARK: - Changes

    /// Ends it, when nobody is connected any more or nobody ever was: no transition is heard after this.
    func stop() {
        self.loop.preconditionInEventLoop()
        self.voters.stop()
        self.registration.cancel()
        self.listener.server = nil
        self.links?.stop()
        self.stays?.stop()
        self.turns.stop()
    }

    /// Brings the ring up to all that has been committed.
    func catchUp() { self.cursor.catchUp() }

    /// A state was entered: the ring has it from now on.
    private func append(_ change: Change) {
        switch change.kind {
        case .made: break
        case .arrival: return self.arrived(change)
        case .renewal: return self.renewed(by: change)
        }
        let due = self.stays?.due(after: change)
        // Clients that set have been paused since the ring was half full. The program is not, nor what a client sent
        // before it vanished, which is decided without waiting.
        if self.past.ring.isFull(toQuarters: 3, after: self.turns.flushed) {
            self.turns.writeToReaders(
                upTo: self.past.ring.head,
                searching: self.users.withResting
            )
            self.tellLog()
        }
        self.snapshot = change.place
        self.due = due
        self.origin = change.origin
        if let origin = change.origin, origin.isForced {
            let perSecond = self.limits.transitionsLoggedPerSecond
            self.log?.log(forced: change, by: origin, perSecond: perSecond)
        }
        if change.beginsStay { self.beganStay = change.at }
        self.states.withEncoded(change) { old, new in
            ServerLine.writeChange(
                to: &self.scratch.line,
                change,
                from: old,
                to: new,
                by: self.states,
                in: self.epoch,
                due: due
            )
            self.scratch.line.withBytes {
                self.past.ring.append(change, ofBytes: new.fragment.count, due: due, line: $0)
            }
            self.counters.transitions.add(from: old, to: new)
        }
        self.counters.add(.changes)
        if let stays {
            stays.passed(self.snapshot)
            if self.sharing != nil { stays.count(change) }
        }
        if change.beginsStay { self.links?.entered(self.snapshot, by: change) }
    }

    /// The machine is there, by changes that nobody here knows: they cannot be read, and whoever would be sent them is told so.
    private func arrived(_ change: Change) {
        guard let sharing = self.sharing, let epoch = sharing.engine.takeArrival() else { return }
        let isRestarted = sharing.isPlaced && epoch != self.epoch
        let left = isRestarted ? self.clients.map { ($0, $0.leaveNumbering()) } : []
        let former = self.epoch
        self.tellLog()
        self.past.begin(
            after: change.seq,
            with: ChangeRing(
                changes: self.limits.ringChanges,
                bytes: self.limits.ringBytes,
                after: change.seq
            ),
            in: epoch
        )
        self.turns.begin(after: change.seq)
        (self.snapshot, self.origin) = (change.place, change.origin)
        self.due = self.stays?.due(at: change.place)
        self.beganStay = change.beginsStay ? change.at : nil
        self.began = change.seq == 0 ? change.at : nil
        self.ages = ChangeAges(self.clock.moment, head: change.seq)
        self.logged = change.seq
        self.descriptions = [:]
        self.stays?.arrived(at: change.place)
        for user in self.users.withResting { user.readers.wakeAll() }
        for (connection, standing) in left {
            connection.begin(standing, after: former)
        }
        sharing.placed()
        self.scheduleFlush()
    }

    /// Others know more of the times of the stay that the machine is in.
    private func renewed(by change: Change) {
        self.stays?.renewed(change.place)
        self.renewed(change.place, due: self.stays?.due(at: change.place))
    }

    /// Something is told of a machine that hosts share.
    func happened(_ news: SharingNews) {
        switch news {
        case .tookOver(let voters):
            self.voters.takeOver(voters)
            self.sharing?.engine.tookOver()
        case .asked(let question):
            self.catchUp()
            self.voters.ask(question)
        case .askEnded(let host): self.voters.askEnded(at: host)
        case .voterWent: self.stays?.voterWent()
        case .sessionEnded: self.sessionEnded()
        case .up:
            self.standings += 1
            // What others have done until then may be on its way here.
            return self.afterCommits { [standings = self.standings] in
                if self.standings == standings { self.stands(news) }
            }
        case .down: self.standings += 1
        case .unreachable, .over, .damaged, .lacksSettings, .oldEngine, .restarted, .missed,
            .setAside:
            break
        }
        self.stands(news)
    }

    /// How it is with a machine that hosts share is no longer what it was.
    private func stands(_ news: SharingNews) {
        guard let sharing = self.sharing else { return }
        let former = sharing.trouble
        sharing.happened(news)
        self.trouble = sharing.sentence
        self.status?.troubled(by: self.trouble)
        guard sharing.trouble != former else { return }
        if sharing.trouble == nil {
            self.machine.logRecovered()
            self.stays?.cameUp()
        }
        for user in self.users.withResting { user.readers.wakeAll() }
        self.scheduleFlush()
    }

    /// Whoever holds something here is told before others see that it is gone.
    private func sessionEnded() {
        for connection in Array(self.clients) { connection.sessionEnded() }
        self.voters.sessionEnded()
    }

    private func endBurst() {
        // However the ring was brought up to them: these changes are of the time that the clocks show now.
        self.ages.look(at: self.clock.moment, head: self.past.ring.head)
        self.scheduleFlush()
        self.stays?.arm()
        self.links?.act()
    }

    /// What is due in the present stay is due at another time: who asks from now on is told.
    func renewed(_ place: Place, due: ServerLine.Due?) {
        guard self.snapshot.stay == place.stay else { return }
        if self.snapshot.seq == place.seq {
            (self.snapshot, self.due) = (place, due)
        } else {
            // It carries something else by now.
            self.due = self.stays?.due(at: self.snapshot)
        }
    }

    /// The newest state that the ring knows.
    var report: ServerLine.Report { self.report(of: self.snapshot, due: self.due) }

    /// Writes who brought the machine to that place, and why, if it is where it is now.
    func writeOrigin(of seq: UInt64, to writer: inout LineWriter) {
        guard seq == self.snapshot.seq else { return }
        if let origin { writer.origin(origin) }
    }

    /// Writes how long ago the present state was entered and its stay began, as far as that is known.
    func writeAges(to writer: inout LineWriter) {
        let now = self.clock.moment
        self.ages.look(at: now, head: self.past.ring.head)
        let present = self.snapshot
        writer.number(.ageMs, self.ages.age(of: present.seq, at: present.at, now))
        guard self.stays != nil, let began = self.beganStay else { return }
        writer.number(.stayMs, self.ages.age(of: present.stay, at: began, now))
    }

    /// Whether the newest state matches.
    func isCurrent(_ pattern: Pattern) -> Bool {
        self.states.shows(self.snapshot.value, as: pattern)
    }

    /// Whether the newest state is one that a reader wants.
    func isShown(_ selection: ChangeSelection) -> Bool {
        selection.wants(self.snapshot.value, shownBy: self.states)
    }

    /// Looks a user's resting readers up among the newest changes, until then; returns whether all were looked at.
    func search(for user: User, until end: NIODeadline) -> Bool {
        user.readers.search(self.past, by: self.states, until: end)
    }

    /// Whether the machine's file says who may do what, or the next one does.
    var hasRights: Bool { self.schema.rights != nil || self.voters.next?.rights != nil }

    /// Has every connection write what there is, once this turn's transitions are all in the ring.
    func scheduleFlush() {
        guard !self.isFlushScheduled else { return }
        self.isFlushScheduled = true
        self.loop.assumeIsolated().execute {
            self.catchUp()
            self.isFlushScheduled = false
            self.turns.writeToAnswered()
            self.turns.begin(upTo: self.past.ring.head, searching: self.users.withResting)
            self.counters.report()
            self.tellLog()
            self.status?.changed(to: self.snapshot)
        }
    }

    /// Has everything logged that happens from now on.
    func log(to log: TransitionLogger) {
        self.log = log
        self.logged = self.past.ring.head
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
        guard let log, self.logged < self.past.ring.head else { return }
        log.log(
            self.past.ring,
            after: self.logged,
            through: self.snapshot,
            perSecond: self.limits.transitionsLoggedPerSecond
        )
        self.logged = self.past.ring.head
    }

    /// Has the reporter told of the state, now and when it changes.
    func show(to status: StatusReporter) {
        self.status = status
        status.changed(watches: self.watches)
        status.changed(links: self.links?.troubles ?? [])
        status.changed(to: self.snapshot)
    }

    /// Whether one turn of the loop has made so many changes that readers who read would lose some if
    /// they were not written to before more are made.
    var isAheadOfReaders: Bool { self.past.ring.isFull(toQuarters: 2, after: self.turns.flushed) }

    /// Has the connection go on with its requests once everybody has been written to.
    func pause(_ connection: Connection) {
        self.turns.pause(connection)
        self.scheduleFlush()
    }

    // MARK: - What connections count

    /// Some connection has so many watches more, or fewer.
    func watchesChanged(by change: Int) {
        self.watches += change
        self.status?.changed(watches: self.watches)
    }

    // MARK: - Other machines

    /// Begins to follow them; `tell` is called when one cannot be seen, and with nil when it can be again.
    func beginSeeing(telling tell: @escaping (Link, String?) -> Void) {
        self.links?.begin(telling: tell)
    }

    /// Has the reporter told what is to be said of them.
    func showLinks(_ troubles: [String]) { self.status?.changed(links: troubles) }

    // MARK: - What the machine does by itself

    /// Makes the move of a new boot, if there is one, before anybody is there.
    func boot(_ done: @escaping () -> Void) {
        guard let stays else { return done() }
        stays.boot {
            self.catchUp()
            done()
        }
    }

    /// Begins with all others; `tell` is called when they are withheld, and with nil when they no longer are.
    func beginMoving(telling tell: @escaping (MoveBreaker.Limit?) -> Void) {
        self.stays?.begin(
            correcting: { self.renewed($0, due: $1) },
            telling: tell
        )
        self.links?.beginMoving()
    }

    // MARK: - Limits, and the end

    /// Puts other limits in force; returns the names of those that have to wait for the next start.
    ///
    /// Who has more than the new limits allow keeps it.
    func apply(_ new: ServerLimits) -> [String] {
        let new = new.fitting(connections: self.slots)
        var limits = new
        limits.ringChanges = self.limits.ringChanges
        limits.ringBytes = self.limits.ringBytes
        let later = zip(new.all, limits.all).filter { $0.value != $1.value }.map(\.0.name)
        self.limits = limits
        self.descriptions = [:]
        self.users.apply(limits)
        return later
    }

    /// Has nothing decided any more, and then does what is to be done with the connections.
    func drainSets(then body: @escaping @Sendable () -> Void) {
        self.isClosing = true
        self.links?.stop()
        self.stays?.stop()
        for connection in self.clients { connection.sets.withdraw() }
        // What is being committed will have happened, and is answered as such.
        self.afterCommits {
            self.catchUp()
            // All sets are answered before the first guard is let go, which would decide them.
            for connection in self.clients { connection.sets.refuse() }
            body()
        }
    }

    /// Calls `body` on the loop once all has happened that has been evaluated.
    ///
    /// Before it is known where a shared machine is nothing is, and it may never be known.
    func afterCommits(_ body: @escaping @Sendable () -> Void) {
        guard self.sharing?.isPlaced != false else { return self.loop.execute(body) }
        self.machine.afterCommits(at: self.cursor, body)
    }
}

extension StateServer {
    /// Whom the server's cursor tells.
    ///
    /// `@unchecked Sendable`: it belongs to the event loop, where the cursor calls.
    private final class Listener: @unchecked Sendable {
        /// Nil before the server is complete, and once it has stopped.
        var server: StateServer?
    }
}

extension StateServer {
    /// Another declaration is in force from that place on, which the ring has come to.
    func redeclared(_ schema: Schema, at place: Place) {
        self.schema = schema
        self.catchUp()
        self.stays?.redeclared(place)
        self.links?.redeclared(schema, at: place)
        guard let declaration = schema.declaration else { return }
        self.past.declarations.append(Declared(declaration: declaration, seq: place.seq))
        self.descriptions = [:]
        // The machine looks as it did, and what is known of it is another, unless it has moved on.
        if self.snapshot.seq == place.seq {
            self.due = self.stays?.due(at: place)
            self.snapshot = place
        }
        // All are to be told, or ask for other states from now on.
        for user in self.users.withResting { user.readers.wakeAll() }
        for connection in self.clients {
            connection.watches.redeclared()
        }
        self.scheduleFlush()
    }

    /// The answer to `reload`.
    func answer(to result: ReloadResult, id: RequestID?) -> [UInt8] {
        if let first = result.problems.first {
            self.counters.add(.refusals)
            let others = result.problems.count - 1
            let error = WireError(.badFile, others > 0 ? "\(first) (and \(others) more)" : first)
            return ServerLine.refusal(id: id, error, report: self.report) { writer in
                writer.json(.problems, .array(result.problems.map { .string($0) }))
            }
        }
        return ServerLine.reply(id: id, report: self.report) { writer in
            if let declaration = self.schema.declaration {
                writer.string(.declaration, declaration.hash)
                if let version = declaration.version { writer.string(.version, version) }
            }
            if !result.later.isEmpty {
                writer.json("atNextStart", .array(result.later.map { .string($0) }))
            }
            if result.needsSuccessor { writer.bool("restarts", true) }
        }
    }
}

/// Who is connected, how they come and how they go.
extension StateServer {
    /// All of them, in no order.
    var clients: some Sequence<Connection> { self.turns.connections }

    /// How long the server has been there, in milliseconds.
    var uptimeMs: Int64 { (NIODeadline.now() - self.startedAt).nanoseconds / 1_000_000 }

    /// Whether a connection that is turned away may stay until its client has read why.
    ///
    /// 64 at a time: enough for those who come by mistake, and a crowd takes no more descriptors.
    var mayLinger: Bool { self.turns.connections.count - self.users.slotsTaken <= 64 }

    /// Whether a user's connection has a place, and from when on.
    func admit(_ uid: UInt32, at door: Door) -> Admission.Decision {
        let decision = self.users.admit(uid, at: door)
        switch decision {
        case .admit: self.counters.add(.accepted)
        case .turnAway: self.counters.add(.turnedAway)
        }
        return decision
    }

    func add(_ connection: Connection) {
        self.turns.add(connection)
    }

    func remove(_ connection: Connection) {
        self.turns.remove(connection)
        self.users.released(connection)
        self.turns.tookTurn(connection)
        self.turns.tellIfEmpty()
    }

    /// How long writing to everybody takes at most when the daemon ends.
    ///
    /// 500 ms: filtered watches of two users that were far behind took 15 s, in which the service
    /// manager killed the daemon.
    private static let lastWriting = TimeAmount.milliseconds(500)

    /// Writes what can be written to everybody, in turns, until there is nothing left or no time.
    func writeLast() {
        let end = NIODeadline.now() + Self.lastWriting
        var rest = Array(self.clients)
        repeat {
            rest = rest.filter { connection in
                !connection.writeLast(until: min(.now() + Turns.length, end))
            }
        } while !rest.isEmpty && NIODeadline.now() < end
    }

    /// Tells every client that the daemon is going; done when all connections are closed.
    ///
    /// Who has more to be told than there is time for is told only that.
    func sayGoodbye(_ reason: ServerLine.ByeReason) -> EventLoopFuture<Void> {
        self.loop.preconditionInEventLoop()
        let allGone = self.turns.whenEmpty()
        self.drainSets {
            for user in self.users.withResting { _ = self.search(for: user, until: .distantFuture) }
            for connection in self.clients { connection.dismiss(for: reason) }
            self.writeLast()
            for connection in self.clients { connection.flushLast() }
            self.turns.tellIfEmpty()
        }
        return allGone
    }
}
