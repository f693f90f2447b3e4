#if Cluster
@testable import StateMachineEtcd

/// The engine as hosts reach it: requests and answers are on their way for a while, and some are lost, late, or done twice.
final class SimulatedEngine {
    let simulator: Simulator
    var faults: SimulatedFaults
    let record: SimulatedRecord
    private(set) var model = ModelEngine()
    /// Older states of it, of which one may be put back; the last is what members that lag may have.
    private var snapshots: [(model: ModelEngine, committed: SimulatedRecord.Committed.Places)] = []
    /// How often one was put back: what was on its way then does not arrive.
    private(set) var incarnation = 0
    private var leases: Int64 = 0x10
    /// Requests that are on their way for longer than anybody waits, and when nobody does any longer.
    private var stragglers: [(due: Int64, arrive: () -> Void)] = []
    /// How long each was granted for.
    private var times: [Int64: Int64] = [:]
    /// Until then there is no leader.
    private var leaderlessUntil: Int64 = 0
    var isFull = false
    /// Called when there is something for watches, and when all connections end.
    var whenChanged: [() -> Void] = []
    var whenRestored: [() -> Void] = []

    init(_ simulator: Simulator, _ faults: SimulatedFaults, _ record: SimulatedRecord) {
        (self.simulator, self.faults, self.record) = (simulator, faults, record)
    }

    var hasLeader: Bool { self.simulator.now >= self.leaderlessUntil }

    /// Does it now, if it has room; returns whether it has.
    fileprivate func perform(
        _ request: TransactionRequest
    ) -> (Outcome<TransactionRequest.Answer>, isDone: Bool) {
        let isPut = request.success.contains { if case .put = $0 { true } else { false } }
        if self.isFull, isPut, self.simulator.happens(700) { return (.unknown(.full), false) }
        let outcome = self.changing { $0.perform(request) }
        return self.isFull && isPut ? (.unknown(.full), false) : (outcome, outcome.isDone)
    }

    fileprivate func perform(_ request: LeaseGrantRequest) -> (Outcome<Lease>, isDone: Bool) {
        self.leases += 1
        let (lease, time) = (self.leases, request.seconds * 1_000_000)
        self.times[lease] = time
        self.changing { $0.grant(lease, until: self.simulator.now + time) }
        self.endLeases(in: time)
        return (.answered(Lease(ResponseHeader(), lease, seconds: request.seconds)), true)
    }

    fileprivate func perform(_ request: LeaseKeepAliveRequest) -> (Outcome<Lease>, isDone: Bool) {
        guard let time = self.times[request.id] else {
            return (.answered(Lease(ResponseHeader(), request.id, seconds: 0)), true)
        }
        let isThere = self.changing { $0.keepAlive(request.id, until: self.simulator.now + time) }
        if isThere { self.endLeases(in: time) }
        return (
            .answered(Lease(ResponseHeader(), request.id, seconds: isThere ? time / 1_000_000 : 0)),
            true
        )
    }

    private func changing<Result>(_ body: (inout ModelEngine) -> Result) -> Result {
        let before = self.model.revision
        let result = body(&self.model)
        guard self.model.revision > before else { return result }
        for step in self.model.steps.reversed().prefix(while: { $0.revision > before }).reversed() {
            self.record.happened(step, at: self.simulator.now, self.model)
        }
        for tell in self.whenChanged { tell() }
        return result
    }

    /// Sends it; `end` is called with the outcome, once, unless the faults have it come twice.
    func send<Call: SimulatedCall>(
        _ call: Call,
        over line: SimulatedLine,
        end: @escaping (Outcome<Call.Answer>) -> Void
    ) {
        let incarnation = self.incarnation
        let simulator = self.simulator
        let faults = self.faults
        var isOpen = true
        let finish: (Outcome<Call.Answer>) -> Void = { outcome in
            guard isOpen, line.isAlive() else { return }
            isOpen = false
            end(outcome)
            if simulator.happens(faults.answeredTwice) { end(outcome) }
        }
        simulator.after(faults.callTimeout) {
            finish(.unknown(.late(.microseconds(faults.callTimeout))))
        }
        let isLost = simulator.happens(faults.requestLost)
        let isLate = simulator.happens(faults.requestLate)
        let isUnanswered = simulator.happens(faults.answerLost)
        let isTwice = simulator.happens(faults.requestTwice)
        let way =
            line.length + faults.way(simulator)
            + (isLate ? simulator.draw(0..<2 * faults.callTimeout) : 0)
        func arrive(_ answers: Bool) {
            guard self.incarnation == incarnation, !line.isCut() else { return }
            guard self.hasLeader else {
                guard answers else { return }
                // It waits for one, or is turned away.
                if simulator.happens(300) {
                    return simulator.after(self.leaderlessUntil - simulator.now + 1000) {
                        arrive(answers)
                    }
                }
                let refusal = Refusal(kind: .noLeader, description: "no leader")
                return simulator.after(faults.way(simulator)) { finish(.refused(refusal)) }
            }
            let (outcome, isDone) = call.happen(in: self)
            // What was refused for sure, or was not to be done, is not done later.
            if isTwice, isDone, answers {
                simulator.after(simulator.draw(0..<2 * faults.callTimeout)) { arrive(false) }
            }
            guard answers, !isUnanswered else { return }
            simulator.after(line.length + faults.way(simulator)) {
                if !line.isCut() { finish(outcome) }
            }
        }
        if isLate, simulator.happens(500) {
            // It comes when it can do most harm: as somebody sees what has become of it.
            self.stragglers.append((simulator.now + faults.callTimeout, { arrive(true) }))
        } else if !isLost {
            simulator.after(way) {
                arrive(true)
                self.letStraggle()
            }
        }
    }

    /// What was given up arrives soon.
    private func letStraggle() {
        guard let first = self.stragglers.first, first.due < self.simulator.now else { return }
        self.stragglers.removeFirst()
        self.simulator.after(self.simulator.draw(0..<3000), first.arrive)
    }

    /// Does what somebody else asks for.
    func performNow(_ operation: TransactionRequest.Operation) {
        self.changing { _ = $0.perform(TransactionRequest(if: [], then: [operation])) }
    }

    /// What a member that lags would answer.
    func stale(_ request: TransactionRequest) -> TransactionRequest.Answer? {
        guard var model = self.snapshots.last?.model,
            case .answered(let answer) = model.perform(request)
        else { return nil }
        return answer
    }

    // MARK: - What happens to it

    /// Deletes keys as a leader does that ends a lease too early: some of them, or all; keeping it alive is answered as ever.
    func loseKeys() {
        let leased = self.model.entries(self.record.keys.all).filter { $0.lease != 0 }
        guard let entry = leased.randomElement(using: &self.simulator.generator) else { return }
        let isAll = self.simulator.happens(500)
        let lost = leased.filter { $0.lease == entry.lease && (isAll || $0.key == entry.key) }
        self.simulator.note("keys of lease \(entry.lease) are lost")
        self.record.lost(lost.map(\.key), at: self.simulator.now)
        for entry in lost {
            let key = String(decoding: entry.key, as: UTF8.self)
            self.changing {
                _ = $0.perform(
                    TransactionRequest(if: [], then: [.delete(DeleteRequest(KeyRange(key)))])
                )
            }
        }
    }

    private func endLeases(in time: Int64) {
        self.simulator.after(time) {
            guard self.hasLeader else {
                return self.endLeases(in: self.leaderlessUntil - self.simulator.now + 1000)
            }
            self.changing { $0.endLeases(at: self.simulator.now) }
        }
    }

    /// A ticket of nobody, which nothing but the hosts takes away.
    func leaveTicket() {
        self.simulator.note("a ticket is left")
        let key = self.record.keys.ticket(SharedKeys.Ticket("outsider", 0))
        self.performNow(.put(PutRequest(key, Array("{}".utf8))))
    }

    func loseLeader(for time: Int64, extendingLeasesBy lease: Int64) {
        self.simulator.note("the leader is lost")
        self.leaderlessUntil = max(self.leaderlessUntil, self.simulator.now + time)
        self.model.extendLeases(until: self.leaderlessUntil + lease)
        self.endLeases(in: time + lease)
    }

    func takeSnapshot() {
        self.snapshots.append((self.model, self.record.places))
        if self.snapshots.count > 4 { self.snapshots.removeFirst() }
    }

    func compact() {
        self.simulator.note("compacted up to \(self.model.revision)")
        self.model.compact(to: self.model.revision)
    }

    func restore(extendingLeasesBy time: Int64) {
        guard let snapshot = self.snapshots.randomElement(using: &self.simulator.generator) else {
            return
        }
        self.simulator.note(
            "restored: revision \(self.model.revision) becomes \(snapshot.model.revision)"
        )
        self.model = snapshot.model
        self.model.extendLeases(until: self.simulator.now + time)
        self.endLeases(in: time)
        self.incarnation += 1
        self.record.restored(self.model, snapshot.committed, at: self.simulator.now)
        for tell in self.whenRestored { tell() }
    }
}

/// The way between a host and the engine.
struct SimulatedLine {
    /// How much longer than others' messages are on their way.
    let length: Int64
    let isCut: () -> Bool
    /// Whether the one who sends is still there.
    let isAlive: () -> Bool
}

/// What a host asks the engine for.
protocol SimulatedCall: EtcdRequest {
    /// It happens now; returns its outcome, and whether something was done.
    func happen(in engine: SimulatedEngine) -> (Outcome<Answer>, isDone: Bool)
}

extension TransactionRequest: SimulatedCall {
    func happen(in engine: SimulatedEngine) -> (Outcome<Answer>, isDone: Bool) {
        engine.perform(self)
    }
}

extension LeaseGrantRequest: SimulatedCall {
    func happen(in engine: SimulatedEngine) -> (Outcome<Lease>, isDone: Bool) {
        engine.perform(self)
    }
}

extension LeaseKeepAliveRequest: SimulatedCall {
    func happen(in engine: SimulatedEngine) -> (Outcome<Lease>, isDone: Bool) {
        engine.perform(self)
    }
}

extension Outcome<TransactionRequest.Answer> {
    fileprivate var isDone: Bool {
        if case .answered(let answer) = self { answer.succeeded } else { false }
    }
}

/// What goes wrong, and how often: of a thousand.
struct SimulatedFaults {
    var requestLost = 0
    var requestLate = 0
    var requestTwice = 0
    var answerLost = 0
    var answeredTwice = 0
    var connectionLost = 0
    /// A watch that brings nothing any longer.
    var watchStarved = 0
    /// A watch that leaves a revision out.
    var watchHole = 0
    var fragments = 0
    /// Of each time that trouble is looked for.
    var leader = 0
    var cut = 0
    var compaction = 0
    var restore = 0
    var full = 0
    var crash = 0
    var sleep = 0
    var keysLost = 0
    let callTimeout: Int64 = 1_000_000

    /// How long a message is on its way.
    func way(_ simulator: Simulator) -> Int64 {
        simulator.draw(100..<(simulator.happens(50) ? 30_000 : 1000))
    }

    /// None.
    init() {}

    /// Some, of kinds that are drawn.
    init(_ simulator: Simulator) {
        func some(_ most: Int64) -> Int {
            simulator.happens(500) ? Int(simulator.draw(0..<most)) : 0
        }
        (self.requestLost, self.requestLate) = (some(60), some(100))
        (self.requestTwice, self.answerLost, self.answeredTwice) = (some(100), some(100), some(50))
        (self.connectionLost, self.watchStarved, self.watchHole) = (some(200), some(50), some(30))
        (self.fragments, self.leader, self.cut) = (some(700), some(150), some(300))
        (self.compaction, self.restore, self.full, self.crash) = (
            some(400), some(120), some(100), some(200)
        )
        (self.sleep, self.keysLost) = (some(100), some(100))
    }

    /// Some things go on when nothing is wrong.
    var calm: SimulatedFaults {
        var calm = SimulatedFaults()
        (calm.fragments, calm.compaction) = (self.fragments, self.compaction)
        return calm
    }
}
#endif
