#if Cluster
import StateMachineCore
import StateMachineProtocol

@testable import StateMachineEtcd

/// A host: its shared machine, who performs that, what stands for the gate, and clients.
final class SimulatedHost {
    /// What a client asks for, until it is answered.
    private struct Ask {
        enum What {
            case set(condition: UInt64?)
            /// Asks for what is so already.
            case same
            case hold
            case release(UInt64)
            /// The time of that stay has come.
            case move(stay: UInt64)
            /// Has the time of the present stay begin anew.
            case renew
        }
        let what: What
        let id: Int64
        let begun: Int64
    }

    /// What the gate makes of one.
    private enum Fate {
        case change(Int)
        case hold(UInt64)
        case release(UInt64)
        /// The time begins anew of the stay that it is in after that many changes of the group.
        case renewal(Int)
        /// Answered without a commit, with the place after that many changes of the group.
        case nothing(Int, isDenied: Bool)
    }

    private let simulation: Simulation
    private var simulator: Simulator { self.simulation.simulator }
    private var record: SimulatedRecord { self.simulation.record }
    private var engine: SimulatedEngine { self.simulation.engine }
    let name: String
    private(set) var machine: SharedMachine
    /// Raised at each crash: what belongs to an earlier life does nothing.
    private var life = 0

    // The connection.
    private var connection = 0
    /// What was sent on it and not answered.
    private var outstanding: Set<UInt64> = []
    private var isConnected = false
    var isCut = false
    /// How much longer than others' its messages are on their way.
    var distance: Int64 = 0
    private var watch: (number: UInt64, watch: EngineWatch, next: Int64)?
    private var isPumping = false
    private var timers: [SharedMachine.Timer: Int] = [:]
    private var timerCount = 0

    // The session.
    private var session: Session
    private var sessionTimers: [Session.Timer: Int] = [:]
    /// The lease that was told last; nil if it has ended.
    private var lease: Int64?
    /// Until when this host counts on it.
    private(set) var deadline: Int64 = 0
    /// What is on its disk: its leases, and who it is.
    private var leases: [Int64] = []
    private var instance = 0
    private(set) var asleepUntil: Int64 = 0
    private var clients = 0

    // The gate.
    private(set) var place: SimulatedRecord.Position?
    private var epoch: Epoch?
    /// Those that it has been in: none of them comes again.
    private var epochs: Set<Epoch> = []
    private(set) var last: SharedChange?
    private var foreign: [SharedKeys.Voter: [UInt8]] = [:]
    private var holds: [UInt64: Int] = [:]
    private var holdNumber: UInt64 = 0
    private var waiting: [Ask] = []
    private struct Group {
        let asks: [(ask: Ask, fate: Fate)]
        let changes: [SharedChange]
        let renewed: SharedChange?
        let since: Int64
    }
    private var group: Group?
    /// The session in which it was proposed.
    private var proposing: Int64?
    private var isJudging = false
    /// `get` with `fresh`.
    private var reads: [UInt64: Int64] = [:]
    private var readNumber: UInt64 = 0
    /// What its watch shows: the first position since it last began anew, and the last.
    private var remembered: SharedMachine.Group?

    /// How long clients wait until they ask again, on the average.
    private var pace: Int64 = 100_000
    /// Those who wait.
    private var sleeping: Set<Int> = []
    private var sleeps = 0
    private(set) var acknowledged = 0
    private(set) var worstWait: Int64 = 0
    var isCounting = false {
        didSet { (self.acknowledged, self.worstWait) = (0, 0) }
    }
    private(set) var failures: [String] = []
    private(set) var isUp = false

    init(_ simulation: Simulation, _ name: String) {
        (self.simulation, self.name) = (simulation, name)
        self.machine = SharedMachine(simulation.settings(name))
        self.session = Session(simulation.sessionSettings(name, instance: 0))
    }

    func begin(clients: Int) {
        self.clients = clients
        self.reconnect(in: self.simulator.draw(0..<50_000))
        for _ in 0..<clients { self.nextAsk() }
        self.readNow()
    }

    var isIdle: Bool { self.waiting.isEmpty && self.group == nil && self.reads.isEmpty }
    /// For how long the one has waited that has waited longest.
    var longestWait: Int64 {
        let asks = self.waiting + (self.group?.asks.map(\.ask) ?? [])
        return asks.map { self.simulator.now - $0.begun }.max() ?? 0
    }
    var isHeld: Bool { !self.foreign.isEmpty || !self.holds.isEmpty }
    var state: String {
        "\(self.name) at \(self.place?.description ?? "nowhere"), \(self.isUp ? "up" : "down")"
    }

    /// Whether it counts on that hold of its own at this moment.
    func countsOn(_ number: UInt64) -> Bool {
        self.holds[number] != nil && self.lease != nil && self.session.isSure(at: self.moment)
    }

    /// The lease that it counts on; nil if it counts on none.
    var sureLease: Int64? { self.session.isSure(at: self.moment) ? self.lease : nil }
    /// Those of its holds that are not being released.
    var ownHolds: Set<SharedKeys.Voter> {
        Set(self.holds.keys.map { SharedKeys.Voter(self.name, $0) })
    }

    // MARK: - Time

    private var moment: StayMoment {
        StayMoment(
            uptime: self.simulator.now,
            wall: WallTime(microseconds: self.simulator.now)
        )
    }

    /// Does it later, in this life, once the computer is awake.
    private func after(_ time: Int64, _ body: @escaping () -> Void) {
        let life = self.life
        self.simulator.after(time) { self.whenAwake(life, body) }
    }

    private func whenAwake(_ life: Int, _ body: @escaping () -> Void) {
        guard self.life == life else { return }
        guard self.simulator.now < self.asleepUntil else { return body() }
        self.simulator.after(self.asleepUntil - self.simulator.now) { self.whenAwake(life, body) }
    }

    /// The computer is suspended: nothing of it happens, and the engine waits for nobody.
    func sleep(for time: Int64) {
        self.simulator.note("\(self.name): sleeps")
        self.asleepUntil = max(self.asleepUntil, self.simulator.now + time)
    }

    // MARK: - Performing

    private func tell(_ event: SharedMachine.Event) {
        let actions = self.machine.thisHappened(event, using: &self.simulator.generator)
        for action in actions { self.perform(action) }
        self.judgeSoon()
    }

    private func perform(_ action: SharedMachine.Action) {
        switch action {
        case .send(let number, let request): self.send(number, request)
        case .watch(let number, let start, let version):
            let first = start + (self.simulation.isBroken(.watchBeginsLate) ? 1 : 0)
            let keys = self.record.keys
            self.watch = (
                number, EngineWatch(keys.all, from: first, counting: keys.head, after: version),
                first
            )
            self.simulator.note("\(self.name): watches from \(first)")
            self.watched(
                .came(WatchRequest.Answer(ResponseHeader(revision: start), isCreated: true))
            )
            self.pumpSoon()
        case .reconnect(let why):
            self.simulator.note("\(self.name): connects again: \(why)")
            self.reconnect(in: self.simulator.draw(50_000..<500_000))
        case .answer(let answer): self.answer(answer)
        case .adopt(let progress): self.enter(progress)
        case .place(let head, let arrival): self.arrive(head, arrival)
        case .voters(let put, let gone):
            self.simulator.note(
                "\(self.name): voters \(put.keys.map(\.text).sorted()) and not \(gone.map(\.text).sorted())"
            )
            self.foreign.merge(put) { $1 }
            for voter in gone { self.foreign[voter] = nil }
        case .gone(let lease):
            self.simulator.note("\(self.name): lease \(lease) is gone")
            self.tellSession(.gone(lease: lease))
        case .fresh(let id):
            guard let begun = self.reads.removeValue(forKey: id), let place else { return }
            self.answered(.read, at: place, begun)
        case .notFresh(let id, _): self.reads[id] = nil
        case .note, .reached: break
        case .tell(let news):
            self.simulator.note("\(self.name): \(news)")
            self.isUp = news == .up
            self.awaitTime()
        case .arm(let timer, let time):
            self.timerCount += 1
            let count = self.timerCount
            self.timers[timer] = count
            self.after(time.wholeMicroseconds) {
                guard self.timers[timer] == count else { return }
                self.timers[timer] = nil
                self.tell(.due(timer))
            }
        case .disarm(let timer): self.timers[timer] = nil
        }
    }

    private func send(_ number: UInt64, _ request: TransactionRequest) {
        self.simulator.note("\(self.name): sends \(number), \(request.text)")
        if self.isConnected, let answer = self.simulation.broken(request, self.engine) {
            return self.after(10) { self.tell(.ended(number, answer)) }
        }
        if self.isConnected { self.outstanding.insert(number) }
        self.call(self.simulation.altered(request, self.record)) { outcome in
            self.outstanding.remove(number)
            self.simulator.note("\(self.name): \(number) ended, \(outcome.text)")
            self.tell(.ended(number, outcome))
        }
        let (chance, connection) = (self.simulation.faults.connectionLost, self.connection)
        if self.isConnected, self.simulator.happens(chance / 10) {
            self.after(self.simulator.draw(0..<100_000)) { self.lose(connection) }
        }
    }

    /// Sends something on this connection; of what is lost with it, nothing is told.
    private func call<Call: SimulatedCall>(
        _ call: Call,
        _ end: @escaping (Outcome<Call.Answer>) -> Void
    ) {
        let (life, connection) = (self.life, self.connection)
        guard self.isConnected else {
            return self.after(10) { end(.refused(.notSent("there is no connection"))) }
        }
        let line = SimulatedLine(
            length: self.distance,
            isCut: { self.isCut },
            isAlive: { self.life == life }
        )
        self.engine.send(call, over: line) { outcome in
            self.whenAwake(life) {
                guard connection == self.connection, self.isConnected else { return }
                end(outcome)
            }
        }
    }

    private func lose(_ connection: Int) {
        guard self.connection == connection, self.isConnected else { return }
        self.simulator.note("\(self.name): loses its connection")
        self.reconnect(in: self.simulator.draw(0..<300_000))
        self.tell(.disconnected)
    }

    /// The engine was restored: all connections end.
    func engineEnded() {
        if self.isConnected {
            self.reconnect(in: self.simulator.draw(0..<500_000))
            self.tell(.disconnected)
        }
    }

    private func reconnect(in time: Int64) {
        (self.isConnected, self.watch) = (false, nil)
        self.connection += 1
        let connection = self.connection
        for number in self.outstanding.sorted() {
            self.after(0) {
                self.tell(.ended(number, .unknown(.lost("the connection was lost"))))
            }
        }
        self.outstanding = []
        self.tellSession(.disconnected)
        self.after(time) {
            guard self.connection == connection else { return }
            guard !self.isCut, self.engine.hasLeader else {
                return self.reconnect(in: self.simulator.draw(50_000..<500_000))
            }
            self.isConnected = true
            self.simulator.note("\(self.name): is connected")
            self.tell(.connected)
            self.tellSession(.connected)
        }
    }

    // MARK: - The session

    private func tellSession(_ event: Session.Event) {
        for action in self.session.thisHappened(event, at: self.moment) { self.perform(action) }
        if let continuation = self.session.continuation { self.deadline = continuation.deadline }
    }

    private func perform(_ action: Session.Action) {
        switch action {
        case .grant(let number, let request):
            self.simulator.note("\(self.name): asks for a lease")
            self.call(request) { self.tellSession(.granted(number, $0)) }
        case .keep(let number, let request):
            self.call(request) { outcome in
                if case .answered(let lease) = outcome {
                    self.simulator.note("\(self.name): lease \(request.id) has \(lease.seconds) s")
                }
                self.tellSession(.kept(number, outcome))
            }
        case .send(let number, let request):
            self.simulator.note("\(self.name): sends for its session \(request.text)")
            self.call(request) { self.tellSession(.ended(number, $0)) }
        case .remember(let leases): self.leases = leases
        case .session(let lease):
            self.simulator.note(
                lease.map { "\(self.name): session \($0)" } ?? "\(self.name): its session has ended"
            )
            if lease == nil {
                let end = min(self.simulator.now, self.deadline)
                for number in self.holds.keys { self.endHold(number, at: end) }
            }
            self.lease = lease
            self.tell(.session(lease))
        case .takeOver(let voters):
            self.simulator.note("\(self.name): takes over \(voters.keys.sorted())")
            self.tell(.tookOver(Set(voters.keys)))
            for number in voters.keys.sorted() { self.hold(number) }
        case .arm(let timer, let time):
            self.timerCount += 1
            let count = self.timerCount
            self.sessionTimers[timer] = count
            self.after(time.wholeMicroseconds) {
                guard self.sessionTimers[timer] == count else { return }
                self.sessionTimers[timer] = nil
                self.tellSession(.due(timer))
            }
        case .disarm(let timer): self.sessionTimers[timer] = nil
        case .end(let why):
            // A daemon whose record is kept by chance for longer than twice its time is started again.
            self.simulator.note("\(self.name): ends, since \(why)")
            self.after(1_000_000) { self.crash(clients: self.clients, hasDisk: true) }
        }
    }

    // MARK: - The watch

    func pumpSoon() {
        guard self.watch != nil, !self.isPumping else { return }
        self.isPumping = true
        self.after(self.simulation.faults.way(self.simulator)) {
            self.isPumping = false
            self.pump()
        }
    }

    private func pump() {
        guard let watch, self.isConnected, !self.isCut else { return }
        let faults = self.simulation.faults
        if self.simulator.happens(faults.watchStarved / 5) {
            self.simulator.note("\(self.name): its watch brings nothing any longer")
            self.watch?.next = .max
            return
        }
        let model = self.engine.model
        let header = ResponseHeader(revision: model.revision)
        if watch.next < model.oldest {
            return self.watched(.came(WatchRequest.Answer(header, compacted: model.oldest)))
        }
        guard watch.next <= model.revision else { return }
        let steps = model.steps.reversed().prefix { $0.revision >= watch.next }.reversed()
        let left =
            self.simulator.happens(faults.watchHole)
            ? steps.randomElement(using: &self.simulator.generator)?.revision : nil
        if let left { self.simulator.note("\(self.name): its watch leaves out revision \(left)") }
        let events = steps.filter { $0.revision != left }.flatMap(\.events)
        self.watch?.next = model.revision + 1
        guard !events.isEmpty else { return }
        let number = watch.number
        var rest = events[...]
        while !rest.isEmpty, self.watch?.number == number {
            let count =
                self.simulator.happens(faults.fragments)
                ? Int(self.simulator.draw(1..<4)) : rest.count
            let isLast = count >= rest.count
            let isFragment = !isLast && !self.simulation.isBroken(.halfResponses)
            self.watched(
                .came(
                    WatchRequest.Answer(header, Array(rest.prefix(count)), isFragment: isFragment)
                )
            )
            rest = rest.dropFirst(count)
            // The connection may end in the middle.
            if !isLast, self.simulator.happens(faults.connectionLost / 5) {
                return self.lose(self.connection)
            }
        }
    }

    private func watched(_ event: EngineWatch.Event) {
        guard var watch else { return }
        let news = watch.watch.thisHappened(event)
        self.watch = watch
        guard let news else { return }
        if case .ended(let ending) = news {
            self.simulator.note("\(self.name): its watch ended: \(ending)")
            self.watch = nil
        }
        self.tell(.watched(watch.number, news))
    }

    // MARK: - The gate

    private func judgeSoon() {
        guard !self.isJudging, self.group == nil, !self.waiting.isEmpty, self.place != nil else {
            return
        }
        self.isJudging = true
        self.after(self.simulator.draw(0..<50)) {
            self.isJudging = false
            self.judge()
        }
    }

    private func judge() {
        guard self.group == nil, !self.waiting.isEmpty, let place, let last else { return }
        let count = Int(min(Int64(self.waiting.count), self.simulator.draw(1..<6)))
        let asks = self.waiting.prefix(count)
        self.waiting.removeFirst(count)
        var (changes, fates): ([SharedChange], [(Ask, Fate)]) = ([], [])
        var voters: [UInt64: [UInt8]?] = [:]
        var isHeld = self.isHeld
        // What the machine is then, and whether more is known of it than its change says.
        var (latest, renewed) = (last, SharedChange?.none)
        for ask in asks {
            switch ask.what {
            case .set(let condition):
                let seq = place.seq + UInt64(changes.count)
                if isHeld {
                    fates.append((ask, .nothing(changes.count, isDenied: true)))
                } else if let condition, condition != seq {
                    fates.append((ask, .nothing(changes.count, isDenied: false)))
                } else {
                    let data = JSONValue.object([JSONMember("id", .integer(ask.id))])
                    let at = max(WallTime(microseconds: self.simulator.now), latest.at)
                    let by = JSONValue.object([JSONMember("host", .string(self.name))])
                    latest = SharedChange("on", data, at: at, stay: seq + 1, by: by)
                    (changes, renewed) = (changes + [latest], nil)
                    fates.append((ask, .change(changes.count)))
                }
            case .move(let stay):
                let isDue =
                    self.isDue(latest) && latest.stay == stay
                    || self.simulation.isBroken(.timesAreNotJudged)
                if !isDue || isHeld {
                    fates.append((ask, .nothing(changes.count, isDenied: isDue)))
                } else {
                    latest = SharedChange(
                        "rest",
                        .object([JSONMember("id", .integer(ask.id))]),
                        at: max(WallTime(microseconds: self.simulator.now), latest.at),
                        stay: place.seq + UInt64(changes.count) + 1,
                        cause: "after"
                    )
                    (changes, renewed) = (changes + [latest], nil)
                    fates.append((ask, .change(changes.count)))
                }
            case .renew where latest.state == "on":
                let now = WallTime(microseconds: self.simulator.now)
                latest = latest.renewed(
                    StayTimes(
                        of: latest.stay,
                        since: max(now, latest.times.entered),
                        knowing: [KnownTime("after", group: nil, value: .integer(ask.id))]
                    )
                )
                renewed = latest
                fates.append((ask, .renewal(changes.count)))
            case .renew: fates.append((ask, .nothing(changes.count, isDenied: false)))
            case .same: fates.append((ask, .nothing(changes.count, isDenied: false)))
            case .hold:
                self.holdNumber += 1
                voters[self.holdNumber] = .some(Array("{\"life\":\(self.life)}".utf8))
                fates.append((ask, .hold(self.holdNumber)))
                isHeld = true
            case .release(let number):
                if self.holds[number] != nil { voters[number] = .some(nil) }
                fates.append((ask, .release(number)))
            }
        }
        self.group = Group(
            asks: fates,
            changes: changes,
            renewed: renewed,
            since: self.simulator.now
        )
        let isEmpty = changes.isEmpty && voters.isEmpty && renewed == nil
        if isEmpty, self.simulation.isBroken(.confirmsNothing) { return self.answer(.committed) }
        let group = SharedMachine.Group(
            changes,
            renewing: renewed,
            voters: voters,
            news: self.machine.news
        )
        // What becomes known meanwhile is not judged.
        self.after(self.simulator.draw(0..<200)) {
            self.simulator.note("\(self.name): proposes \(asks.map(\.id))")
            let isUp = self.isUp
            self.proposing = self.lease
            self.tell(.proposed(group))
            if !isUp, self.group != nil {
                self.record.violation("\(self.name): a group waits, and it is not fresh")
            }
        }
    }

    private func answer(_ answer: SharedMachine.Answer) {
        guard let group, let place else {
            return self.record.violation("\(self.name): an answer without a group: \(answer)")
        }
        self.simulator.note("\(self.name): \(answer.text), \(group.asks.map(\.ask.id))")
        self.group = nil
        let waited = self.simulator.now - group.since
        if waited > self.simulation.setTimeout + 10_000, group.since > self.asleepUntil {
            self.record.violation("\(self.name): a group was answered after \(waited)")
        }
        switch answer {
        case .committed: self.committed(group, place)
        case .overtaken(let progress):
            self.enter(progress)
            self.waiting = group.asks.map(\.ask) + self.waiting
        case .failed(let why):
            for (ask, _) in group.asks { self.failed(ask, why, isUnsure: false) }
        case .unsure(let why):
            if self.simulation.isBroken(.unsureIsCommitted) { return self.committed(group, place) }
            for (ask, fate) in group.asks {
                // What was not part of it has surely not happened.
                if case .nothing = fate {
                    self.failed(ask, why, isUnsure: false)
                } else {
                    self.failed(ask, why, isUnsure: true)
                }
            }
        }
    }

    private func committed(_ group: Group, _ place: SimulatedRecord.Position) {
        for change in group.changes { self.enter(change) }
        if let renewed = group.renewed { self.renew(renewed) }
        func position(_ count: Int) -> SimulatedRecord.Position {
            .init(epoch: place.epoch, seq: place.seq + UInt64(count))
        }
        for (ask, fate) in group.asks {
            switch fate {
            case .change(let count):
                self.answered(.set(ask.id), at: position(count), ask.begun)
                if case .set = ask.what { self.acknowledged += self.isCounting ? 1 : 0 }
            case .renewal(let count):
                let isLast = count == group.changes.count
                self.answered(isLast ? .renewal(ask.id) : .read, at: position(count), ask.begun)
            case .nothing(let count, let isDenied):
                self.answered(isDenied ? .denied : .read, at: position(count), ask.begun)
                switch ask.what {
                case .set, .renew, .move: self.record.refused(ask.id, "conflict or denied")
                case .same, .hold, .release: break
                }
                if isDenied { self.moveLater(ask) }
            case .hold(let number):
                // Held by a session that has ended, or will have: its connection is told that instead of an answer.
                guard self.proposing == self.lease, self.sureLease != nil else { break }
                self.hold(number)
            case .release(let number): self.endHold(number)
            }
            self.ended(ask)
        }
    }

    /// Counts on a hold from now on, and releases it some time.
    private func hold(_ number: UInt64) {
        self.holds[number] = self.record.holds.count
        self.record.holds.append(
            .init(
                answered: self.simulator.now,
                ended: nil,
                voter: SharedKeys.Voter(self.name, number)
            )
        )
        self.after(self.simulator.draw(1000..<1_500_000)) {
            if self.holds[number] != nil { self.ask(.release(number)) }
        }
    }

    private func failed(_ ask: Ask, _ why: String, isUnsure: Bool) {
        if self.isCounting { self.failures.append("\(self.name): \(ask.id) \(why)") }
        switch ask.what {
        case .set, .renew: if !isUnsure { self.record.refused(ask.id, why) }
        case .move:
            if !isUnsure { self.record.refused(ask.id, why) }
            self.moveLater(ask)
        case .release(let number):
            // Its client is told that it is still there, or not: it asks again.
            if self.holds[number] != nil {
                self.after(200_000) {
                    if self.holds[number] != nil { self.ask(.release(number)) }
                }
            }
        case .same, .hold: break
        }
        self.ended(ask)
    }

    private func endHold(_ number: UInt64, at time: Int64? = nil) {
        guard let index = self.holds.removeValue(forKey: number) else { return }
        if self.record.holds[index].ended == nil {
            self.record.holds[index].ended = time ?? self.simulator.now
        }
    }

    private func ended(_ ask: Ask) {
        if self.isCounting { self.worstWait = max(self.worstWait, self.simulator.now - ask.begun) }
        switch ask.what {
        case .release, .move: break
        case .set, .same, .hold, .renew: self.nextAsk()
        }
    }

    private func answered(
        _ kind: SimulatedRecord.Answered.Kind,
        at place: SimulatedRecord.Position,
        _ begun: Int64
    ) {
        self.record.answered(
            .init(
                kind: kind,
                position: place,
                begun: begun,
                ended: self.simulator.now,
                host: self.name
            )
        )
    }

    // MARK: - What it shows

    private func enter(_ progress: SharedMachine.Progress) {
        for block in progress.blocks {
            if block.first != (self.place?.seq ?? 0) + 1 {
                self.record.violation("\(self.name): at \(self.state) block \(block.first) came")
            }
            for change in block.changes { self.enter(change) }
        }
        guard let renewed = progress.renewed,
            !self.simulation.isBroken(.renewalsArePassedOver)
        else { return }
        self.renew(renewed)
    }

    private func renew(_ last: SharedChange) {
        guard let place else { return }
        self.last = last
        self.record.shown(renewal: last, place, self.name)
        self.awaitTime()
    }

    // MARK: - What the machine does by itself

    private func isDue(_ last: SharedChange) -> Bool {
        last.state == "on"
            && last.times.entered.microseconds + Simulation.delay <= self.simulator.now
    }

    /// Moves the machine when the time of its stay has come, unless others have.
    private func awaitTime() {
        guard self.isUp, let last, last.state == "on" else { return }
        let due =
            last.times.entered.microseconds + Simulation.delay + self.simulation.turn(of: self.name)
        self.after(max(0, due - self.simulator.now)) { self.timeCame(last) }
    }

    private func timeCame(_ last: SharedChange) {
        guard self.isUp, self.last == last else { return }
        self.ask(.move(stay: last.stay))
    }

    /// It was not made: it is tried again, while it has to be.
    private func moveLater(_ ask: Ask) {
        guard case .move = ask.what, let last else { return }
        self.after(300_000) { self.timeCame(last) }
    }

    private func enter(_ change: SharedChange) {
        guard let place else { return }
        let next = SimulatedRecord.Position(epoch: place.epoch, seq: place.seq + 1)
        (self.place, self.last) = (next, change)
        self.record.shown(change, next, self.name)
        self.awaitTime()
    }

    private func arrive(_ head: Head, _ arrival: SharedMachine.Arrival) {
        self.simulator.note("\(self.name): is at \(head.epoch):\(head.seq), \(arrival)")
        let position = self.record.position(head.epoch, head.seq)
        switch arrival {
        case .joined:
            if self.place != nil {
                self.record.violation("\(self.name): joined, and was at \(self.state)")
            }
        case .missed(let count):
            if head.epoch != self.epoch {
                self.record.violation("\(self.name): missed changes of another epoch")
            }
            if let place, place.seq + count != head.seq {
                self.record.violation("\(self.name): missed \(count) from \(place) to \(head.seq)")
            }
            let next = self.record.keys.block(head.epoch, first: (self.place?.seq ?? 0) + 1)
            if self.engine.model.entries(KeyRange(next)).isEmpty == false {
                self.record.violation(
                    "\(self.name): missed what is still there, behind \(self.state)"
                )
            }
        case .restarted:
            if head.epoch == self.epoch {
                self.record.violation("\(self.name): restarted in the same epoch")
            }
        }
        if head.epoch != self.epoch, !self.epochs.insert(head.epoch).inserted {
            self.record.violation("\(self.name): is in epoch \(head.epoch) again")
        }
        (self.epoch, self.place, self.last) = (head.epoch, position, head.last)
        self.awaitTime()
    }

    // MARK: - Clients

    private func nextAsk() {
        self.sleeps += 1
        let sleep = self.sleeps
        self.sleeping.insert(sleep)
        self.after(self.simulator.draw(0..<2 * self.pace)) {
            guard self.sleeping.remove(sleep) != nil, !self.simulation.isOver else { return }
            switch self.simulation.isBusy
                ? self.simulator.draw(10..<100) : self.simulator.draw(0..<100)
            {
            case ..<8 where !self.isCounting: self.ask(.hold)
            case ..<14: self.ask(.renew)
            case ..<20: self.ask(.same)
            case ..<30 where !self.simulation.isBusy:
                self.ask(.set(condition: self.place?.seq ?? 0))
            default: self.ask(.set(condition: nil))
            }
        }
    }

    /// From now on clients ask at that pace.
    func set(pace: Int64) {
        self.pace = pace
        let count = self.sleeping.count
        self.sleeping = []
        for _ in 0..<count { self.nextAsk() }
    }

    private func ask(_ what: Ask.What) {
        let id = self.simulation.nextID()
        // From now on it may be gone.
        if case .release(let number) = what, let index = self.holds[number],
            self.record.holds[index].ended == nil
        {
            self.record.holds[index].ended = min(self.simulator.now, self.deadline)
        }
        self.record.begin(id, at: self.simulator.now)
        self.waiting.append(Ask(what: what, id: id, begun: self.simulator.now))
        self.judgeSoon()
    }

    /// Reads, as whoever asks at its sockets.
    private func readNow() {
        let due = self.simulator.draw(0..<400_000)
        let time = self.simulator.now + due
        self.after(due) {
            guard !self.simulation.isOver else { return }
            // Whoever reads at the moment of waking is before the alarms that are due.
            if let place = self.place, self.isUp, self.simulator.now == time {
                self.record.read(
                    place,
                    staleAfter: self.simulation.staleAfter,
                    at: self.simulator.now,
                    self.name
                )
            }
            if self.place != nil, self.simulator.happens(300) {
                self.readNumber += 1
                self.reads[self.readNumber] = self.simulator.now
                self.tell(.asked(self.readNumber))
            }
            self.readNow()
        }
    }

    /// Ends it as kill -9 does, and begins it again with what it has on the disk.
    func crash(clients: Int, hasDisk: Bool = false) {
        self.simulator.note("\(self.name): crashes")
        self.life += 1
        let isEphemeral = !hasDisk && (self.simulator.happens(200) || self.place == nil)
        let memory = isEphemeral ? nil : self.machine.memory
        (self.waiting, self.group, self.reads, self.timers) = ([], nil, [:], [:])
        (self.sessionTimers, self.lease) = ([:], nil)
        self.outstanding = []
        (self.isJudging, self.isPumping) = (false, false)
        self.sleeping = []
        self.foreign = [:]
        self.isUp = false
        for number in self.holds.keys { self.endHold(number) }
        if isEphemeral { (self.place, self.epoch, self.last, self.epochs) = (nil, nil, nil, []) }
        // That its time has begun anew need not be on the disk.
        self.last = self.last.map { $0.renewed(StayTimes(of: $0.stay, since: $0.at)) }
        if isEphemeral {
            self.instance += 1
            self.leases = []
        }
        self.machine = SharedMachine(self.simulation.settings(self.name), remembering: memory)
        self.session = Session(
            self.simulation.sessionSettings(self.name, instance: self.instance),
            remembering: self.leases
        )
        self.begin(clients: clients)
    }
}

extension SharedKeys.Voter {
    fileprivate var text: String { "\(self.host)/\(self.number)" }
}

extension SharedMachine.Answer {
    fileprivate var text: String {
        switch self {
        case .committed: "committed"
        case .failed(let why): "failed: \(why)"
        case .overtaken(let progress):
            "overtaken by \(progress.blocks.map { "\($0.first) of \($0.author.host)" })"
        case .unsure(let why): "unsure: \(why)"
        }
    }
}

extension TransactionRequest {
    /// What it would change.
    fileprivate var text: String {
        let changes = self.success.compactMap { operation -> String? in
            switch operation {
            case .range: nil
            case .put(let put):
                "put \(put.key.split(separator: "/").dropFirst(3).joined(separator: "/"))"
            case .delete(let delete): "delete \(String(decoding: delete.keys.first, as: UTF8.self))"
            }
        }
        return changes.isEmpty ? "a look" : changes.joined(separator: ", ")
    }
}

extension Outcome<TransactionRequest.Answer> {
    fileprivate var text: String {
        switch self {
        case .answered(let answer):
            "\(answer.succeeded ? "done" : "not done") at \(answer.header.revision)"
        case .refused(let refusal): "refused: \(refusal)"
        case .unknown(let doubt): "unknown: \(doubt)"
        }
    }
}
#endif
