#if Cluster
import NIOCore
import StateMachineCore
import StateMachineProtocol
import Synchronization

/// Does what a ``SharedMachine`` decides.
///
/// Belongs to its event loop.
final class SharingPerformer {
    private let settings: SharedRecording.Settings
    private let form: SharedForm
    private let keys: SharedKeys
    private let loop: any EventLoop
    private let clock = KernelClock()

    private var audience = SharingAudience()
    /// By what it was seen that the engine has lost changes.
    private var loss: String?

    private var decisions: SharedMachine
    private var generator = SystemRandomNumberGenerator()
    /// What has happened and was not told yet: some of it happens while something is done.
    private var events = CircularBuffer<SharedMachine.Event>()
    private var isPerforming = false

    // The connection.
    private var client: EtcdClient?
    private var connection: EtcdConnection?
    private var watch: RunningWatch?
    private var session: SessionPerformer?
    /// Whether another process continues the session.
    private var isSessionLeft = false
    private var timers: [SharedMachine.Timer: Scheduled<Void>] = [:]

    // The machine.
    private var machine: Machine?
    private let report: SharingReport
    /// The machine's log, which asks this one; nil before it begins and once it has ended.
    private var log: EngineLog?
    /// Why no member takes this host.
    private var turnedAway: Set<SharingTrouble> = []
    private var connects: UInt64 = 0
    /// Whether a member has said that it is older than it should be.
    private var isEngineOld = false
    private var commits = SharingCounts.Times()
    private var hosts: HostList
    /// Which daemon this is, among all that ever ran for this host.
    private var instance: String
    /// When each look was begun from which freshness counts, and which was not answered.
    private var looks: [UInt64: Int64] = [:]
    private var entered: EnteredPlace
    /// The machine's numbering, once it is known.
    private var epoch: Epoch?
    private let voters: ForeignVoters
    private var guards: GuardExchange?
    /// What is to be committed, and who waits for that.
    private var group: (own: OwnGroup, begun: Int64, done: @Sendable (Recorded) -> Void)?
    /// Whether the next group was judged before all was entered that had happened.
    private var isCrossed = false
    private var asked: [UInt64: @Sendable (SharingTrouble?) -> Void] = [:]
    private var questions: UInt64 = 0
    private var isStopped = false

    init(
        _ settings: SharedRecording.Settings,
        _ form: SharedForm,
        at place: Place?,
        by starts: StayStarts,
        keeping cache: (any SharedCache)?,
        telling report: SharingReport,
        on loop: any EventLoop
    ) {
        (self.settings, self.form, self.loop, self.report) = (settings, form, loop, report)
        let left = cache?.left
        self.epoch = left?.epoch
        self.keys = SharedKeys(machine: settings.machine)
        self.hosts = HostList(self.keys)
        self.instance = settings.instance
        self.entered = EnteredPlace(form, at: place, by: starts, keeping: cache)
        self.voters = ForeignVoters(form.schema)
        let beginning = Place(seq: 0, value: form.schema.initial, at: .now, stay: 0)
        var shared = SharedMachine.Settings(
            self.keys,
            host: settings.host,
            beginning: form.shared(beginning),
            form: form.hash
        )
        shared.keepChanges = settings.keepChanges
        shared.checkInterval = settings.checkInterval
        shared.staleAfter = settings.staleAfter
        shared.setTimeout = settings.setTimeout
        // Whoever continues a session continues it later; a microsecond is too short for an attempt.
        shared.attempts = UInt64(max(0, self.clock.moment.uptime))
        self.decisions = SharedMachine(shared, remembering: left.map { Restoration.Memory($0) })
    }

    /// Connects.
    ///
    /// - Parameters:
    ///   - machine: the one that it moves.
    ///   - left: the session that the last process has left; nil: none.
    ///   - log: the machine's log, which is told the numbering before anything is adopted that is in it, and again for each connection.
    func begin(moving machine: Machine, continuing left: SharedSession?, _ log: EngineLog) {
        guard !self.isStopped, self.machine == nil else { return }
        (self.machine, self.log) = (machine, log)
        // Until it is known to be fresh.
        machine.logObjects(because: SharingTrouble.engine.sentence)
        if self.entered.isAstray { self.thisHappened(.trouble(.form, isThere: true)) }
        self.guards = GuardExchange(self.settings, self.keys, self.form, on: self.loop) {
            [unowned self] in self.audience.happened($0)
        }
        self.beginSession(continuing: left)
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.client = EtcdClient(
            self.settings.endpoints,
            self.settings.credentials,
            probe: RangeRequest(KeyRange(self.keys.head), keysOnly: true),
            within: self.settings.callTimeout,
            on: self.loop
        ) { bound.value.thisHappened($0) }
    }

    func use(_ credentials: EtcdCredentials) { self.client?.use(credentials) }

    /// Ends it; nothing is entered or told any more.
    func stop(_ done: @escaping () -> Void) {
        guard !self.isStopped else { return done() }
        self.isStopped = true
        for timer in self.timers.values { timer.cancel() }
        self.timers = [:]
        self.watch?.stop()
        self.guards?.stop()
        self.group.take()?.done(.unsure("the daemon is going down"))
        for done in self.asked.values { done(.engine) }
        self.asked = [:]
        self.entered.end(knowing: self.decisions.memory)
        // Who hears of it has it.
        (self.log, self.audience) = (nil, SharingAudience())
        guard let session = self.session.take() else { return done() }
        session.stop(leaving: self.isSessionLeft) {
            self.client.take()?.stop()
            self.machine = nil
            done()
        }
    }

    // MARK: - The session

    private func beginSession(continuing left: SharedSession?) {
        // Whatever begins now, what the last process held by a session that has ended is no longer there.
        let isOver = left.map { $0.deadline <= self.clock.moment.uptime } ?? true
        self.instance = left?.instance ?? self.instance
        let record = HostRecord(self.instance, self.form, lasting: self.settings.timeToLive)
        let settings = Session.Settings(self.keys, host: self.settings.host, record)
        let decisions: Session
        if let left, !isOver {
            decisions = Session(
                settings,
                continuing: Session.Continuation(lease: left.lease, deadline: left.deadline)
            )
            self.thisHappened(.tookOver(left.voters))
            self.guards?.sessionWent(left.lease)
            self.thisHappened(.session(left.lease))
        } else {
            let leases = self.settings.leases + (left.map { [$0.lease] } ?? [])
            decisions = Session(settings, remembering: leases)
            self.audience.happened(.sessionEnded)
        }
        self.session = SessionPerformer(
            decisions,
            within: self.settings.callTimeout,
            on: self.loop,
            remembering: self.settings.remember,
            noteDeadline: { [report] in
                report.deadline.store($0, ordering: .sequentiallyConsistent)
            },
            tell: { [unowned self] in self.sessionWent($0) }
        )
    }

    private func sessionWent(_ news: SessionPerformer.News) {
        switch news {
        case .session(let lease):
            // Whoever holds something is told before anything else is done.
            if lease == nil { self.audience.happened(.sessionEnded) }
            self.guards?.sessionWent(lease)
            self.thisHappened(.session(lease))
        case .tookOver(let voters):
            let records = voters.map { KeptVoter($0, reading: $1) }
            self.audience.happened(.tookOver(records.sorted { $0.number < $1.number }))
            self.thisHappened(.tookOver(Set(voters.keys)))
        case .over(let why): self.audience.happened(.over(why))
        }
    }

    /// What another process needs to continue the session; nil: there is none.
    var continuation: SharedSession? {
        self.session?.continuation.map {
            SharedSession(lease: $0.lease, deadline: $0.deadline, instance: self.instance)
        }
    }

    func leaveSession() { self.isSessionLeft = true }

    func tookOver() { self.session?.tookOver() }

    // MARK: - The connection

    private func thisHappened(_ news: EtcdClient.News) {
        guard !self.isStopped else { return }
        switch news {
        case .up(let connection, _):
            self.connection = connection
            self.connects += 1
            self.session?.connected(connection)
            self.guards?.connected(connection)
            self.audience.areNow([])
            self.notice([])
            self.hosts { _ in }
            if let epoch { self.log?.began(epoch) }
            self.askVersion(connection)
            self.decisions.begins(at: self.clock.moment.wall)
            self.thisHappened(.connected)
        case .down(let troubles):
            self.connection = nil
            self.watch = nil
            self.session?.disconnected()
            self.guards?.disconnected()
            self.audience.areNow(troubles.map(\.description))
            self.notice(troubles)
            self.thisHappened(.disconnected)
        }
    }

    /// Tells that no member takes this host, if that is so.
    private func notice(_ troubles: [ConnectionTrouble]) {
        let isAll = troubles.count == self.settings.endpoints.count
        for reason in [SharingTrouble.certificate, .permission] {
            let isThere = isAll && troubles.allSatisfy { $0.reason == reason }
            guard isThere != self.turnedAway.contains(reason) else { continue }
            if isThere { self.turnedAway.insert(reason) } else { self.turnedAway.remove(reason) }
            self.thisHappened(.trouble(reason, isThere: isThere))
        }
    }

    /// Asks a member which version it is; what is too old is told once.
    private func askVersion(_ connection: EtcdConnection) {
        guard !self.isEngineOld else { return }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        connection.call(StatusRequest(), within: self.settings.callTimeout) { outcome in
            let performer = bound.value
            guard case .answered(let status) = outcome, status.isOld, !performer.isEngineOld else {
                return
            }
            performer.isEngineOld = true
            performer.audience.happened(.oldEngine(version: status.version))
        }
    }

    private func send(_ number: UInt64, _ request: TransactionRequest) {
        guard let connection else {
            return self.ended(number, .refused(.notSent("there is no connection")))
        }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        connection.call(request, within: self.settings.callTimeout) { outcome in
            bound.value.ended(number, outcome)
        }
    }

    /// Asks the engine for what has happened; it decides nothing.
    func read(
        _ request: TransactionRequest,
        _ done: @escaping @Sendable (Outcome<TransactionRequest.Answer>) -> Void
    ) {
        guard !self.isStopped, let connection else {
            return done(.refused(.notSent("there is no connection")))
        }
        connection.call(request, within: self.settings.callTimeout, done: done)
    }

    private func ended(_ number: UInt64, _ outcome: Outcome<TransactionRequest.Answer>) {
        if self.looks[number] != nil, case .answered = outcome {
            self.endOverdue()
            self.guards?.tidy()
            // What nobody waits for may have failed without a trouble that was told.
            if self.audience.isUp { self.machine?.logRecovered() }
        }
        self.thisHappened(.ended(number, outcome))
    }

    /// The host is where that look has shown the machine.
    private func reached(look: UInt64) {
        let begun = self.looks[look]
        self.looks = self.looks.filter { $0.key > look }
        // In a state that it does not have it only passes by.
        guard let begun, !self.entered.isAstray else { return }
        self.report.asked.store(begun, ordering: .relaxed)
    }

    /// Ends holds whose time is over, which nobody goes by any longer: their host may never come back.
    private func endOverdue() {
        let now = self.clock.moment.wall
        let overdue = self.voters.all.filter { $0.isOver(at: now) }
            .map { SharedKeys.Voter($0.host, $0.record.number) }
        if !overdue.isEmpty { self.thisHappened(.overdue(Set(overdue))) }
    }

    private func follow(_ number: UInt64, from start: Int64, after version: Int64) {
        self.watch?.stop()
        let watch = EngineWatch(
            self.keys.all,
            from: start,
            counting: self.keys.head,
            after: version
        )
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.watch = self.connection?.watch(watch) { news in
            bound.value.watched(number, news)
        }
        self.guards?.began()
    }

    private func watched(_ number: UInt64, _ news: EngineWatch.News) {
        if case .changed(let events, _) = news {
            self.hosts.came(events, at: self.clock.moment.wall)
            self.noteRank()
        }
        self.thisHappened(.watched(number, news))
        // What leads there is entered before a guard is asked.
        if case .changed(let events, _) = news { self.guards?.happened(events) }
    }

    private func arm(_ timer: SharedMachine.Timer, in time: Duration) {
        self.timers[timer]?.cancel()
        self.timers[timer] = self.loop.assumeIsolated().scheduleTask(in: TimeAmount(time)) {
            self.timers[timer] = nil
            if case .stale(let look) = timer { self.looks[look] = nil }
            self.thisHappened(.due(timer))
        }
    }

    /// Tells `handler` from now on, and how it is now.
    func tell(_ handler: @escaping @Sendable (SharingNews) -> Void) { self.audience.tell(handler) }

    /// Tells what has happened, now or as soon as somebody hears it.
    func tell(happened news: SharingNews) { self.audience.happened(news) }

    private func note(_ oddity: SharedMachine.Oddity) {
        switch oddity {
        case .damaged(let damage): self.audience.happened(.damaged(damage?.description))
        case .lacksSettings: self.audience.happened(.lacksSettings)
        case .lostChanges(let why): self.loss = why
        }
    }

    // MARK: - Deciding and doing

    private func thisHappened(_ event: SharedMachine.Event) {
        guard !self.isStopped else { return }
        self.events.append(event)
        guard !self.isPerforming else { return }
        self.isPerforming = true
        while let event = self.events.popFirst() {
            for action in self.decisions.thisHappened(event, using: &self.generator) {
                self.perform(action)
            }
            self.entered.keep(knowing: self.decisions.memory)
        }
        self.isPerforming = false
        self.count()
    }

    private func count() {
        var counts = self.decisions.counts
        (counts.connects, counts.commits) = (self.connects, self.commits)
        counts.hosts = self.hosts.count
        self.report.counts.withLock { $0 = counts }
    }

    private func perform(_ action: SharedMachine.Action) {
        switch action {
        case .send(let number, let request): self.send(number, request)
        case .watch(let number, let start, let version):
            self.follow(number, from: start, after: version)
        case .reconnect(let why):
            if let connection = self.connection.take() {
                self.client?.abandon(connection, because: why)
            }
        case .answer(let answer): self.answer(answer)
        case .adopt(let progress): self.adopt(self.entering { $0.follow(progress) })
        case .place(let head, let arrival): self.arrive(head, arrival)
        case .voters(let put, let gone):
            guard let machine else { return }
            let guards = NIOLoopBound(self.guards, eventLoop: self.loop)
            self.voters.change(putting: put, removing: gone, in: machine) { [loop] voter, ask in
                loop.execute { guards.value?.asked(voter, ask) }
            }
            self.report.voters.withLock { $0 = self.voters.all }
            self.adopt([])
            if !gone.isEmpty { self.audience.happened(.voterWent) }
        case .fresh(let question):
            self.asked.removeValue(forKey: question)?(self.entered.isAstray ? .form : nil)
        case .notFresh(let question, let reason):
            self.asked.removeValue(forKey: question)?(reason)
        case .note(let oddity): self.note(oddity)
        case .tell(.up):
            self.machine?.logObjects(because: nil)
            self.audience.isNow(.up)
        case .tell(.down(let reason)):
            self.machine?.logObjects(because: reason.sentence)
            self.audience.isNow(.down(reason))
        case .reached(let look): self.reached(look: look)
        case .gone(let lease): self.session?.gone(lease)
        case .arm(let timer, let time):
            if case .stale(let look) = timer { self.looks[look] = self.clock.moment.uptime }
            self.arm(timer, in: time)
        case .disarm(let timer): self.timers.removeValue(forKey: timer)?.cancel()
        }
    }

    /// A guard of this host's answers another host's question.
    func vote(_ vote: Vote, on question: ForeignQuestion, by number: UInt64) {
        self.guards?.vote(vote, on: question.id, of: question.host, by: number)
    }

    func confirm(_ done: @escaping @Sendable (SharingTrouble?) -> Void) {
        guard !self.isStopped else { return done(.engine) }
        self.questions += 1
        self.asked[self.questions] = done
        self.thisHappened(.asked(self.questions))
    }

    /// Asks a quorum which hosts there are; where none answers, they are as they were seen last.
    func hosts(_ done: @escaping @Sendable (SharingHosts) -> Void) {
        guard let connection else { return done(self.hosts.listed(isFresh: false)) }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        connection.call(self.hosts.request, within: self.settings.callTimeout) { outcome in
            let performer = bound.value
            guard case .answered(let answer) = outcome else {
                return done(performer.hosts.listed(isFresh: false))
            }
            performer.hosts.seen(answer)
            performer.noteRank()
            done(performer.hosts.listed(isFresh: true))
        }
    }

    private func noteRank() {
        self.report.rank.store(self.hosts.rank(of: self.settings.host), ordering: .relaxed)
    }

    // MARK: - Groups

    func record(_ records: [Record], _ done: @escaping @Sendable (Recorded) -> Void) {
        guard !self.isStopped else { return done(.failed("the daemon is going down")) }
        let own = self.entered.group(records)
        self.guards?.tidy()
        let isJudged = !exchange(&self.isCrossed, with: false)
        self.group = (own, self.clock.moment.uptime, done)
        self.thisHappened(
            .proposed(
                SharedMachine.Group(
                    own.changes.map(\.shared),
                    renewing: own.renewed,
                    voters: own.voters,
                    lasting: own.lasting,
                    news: isJudged ? self.decisions.news : self.decisions.news &- 1
                )
            )
        )
    }

    private func answer(_ answer: SharedMachine.Answer) {
        guard let group = self.group.take() else { return }
        if answer != .committed { self.entered.dropped() }
        switch answer {
        case .committed:
            self.entered.entered(group.own)
            if !group.own.changes.isEmpty {
                self.commits.add(self.clock.moment.uptime - group.begun)
            }
            self.reached()
            self.count()
            group.done(.committed)
        case .failed(let why): group.done(.failed(why))
        case .overtaken(let progress):
            group.done(.overtaken(self.entering { $0.follow(progress) }))
        case .unsure(let why): group.done(.unsure(why))
        }
    }

    private func reached() {
        guard let place = self.entered.place else { return }
        self.session?.reached(place.seq)
        self.guards?.reached(place.seq)
    }

    // MARK: - What others do

    private func adopt(_ changes: [Change]) {
        self.reached()
        guard let machine, self.entered.place != nil else { return }
        let isUnderWay = machine.adopt(changes)
        // A group that is here is answered as such.
        if isUnderWay, self.group == nil { self.isCrossed = true }
    }

    /// The machine is where the head is.
    private func arrive(_ head: Head, _ arrival: SharedMachine.Arrival) {
        switch arrival {
        case .joined: break
        case .missed(let count): self.audience.happened(.missed(count))
        case .restarted: self.audience.happened(.restarted(because: self.loss.take()))
        }
        self.epoch = head.epoch
        self.log?.began(head.epoch)
        let memory = self.decisions.memory
        self.adopt(self.entering { $0.arrive(at: head, knowing: memory).map { [$0] } ?? [] })
    }

    /// What is to be entered; whether the machine is in a state that there is not here is told.
    private func entering(_ body: (inout EnteredPlace) -> [Change]) -> [Change] {
        let wasAstray = self.entered.isAstray
        let changes = body(&self.entered)
        if self.entered.isAstray != wasAstray {
            self.events.append(.trouble(.form, isThere: self.entered.isAstray))
        }
        for change in changes where change.kind == .arrival {
            if let epoch { self.report.arrivals.withLock { $0.append(epoch) } }
        }
        return changes
    }
}
#endif
