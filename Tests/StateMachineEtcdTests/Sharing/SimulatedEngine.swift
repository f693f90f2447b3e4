#if Cluster
@testable import StateMachineEtcd

/// The engine as hosts reach it: requests and answers are on their way for a while, and some are lost, late, or done twice.
final class SimulatedEngine {
    let simulator: Simulator
    var faults: SimulatedFaults
    let record: SimulatedRecord
    private(set) var model = ModelEngine()
    /// Older states of it, of which one may be put back; the last is what members that lag may have.
    private var snapshots: [ModelEngine] = []
    /// How often one was put back: what was on its way then does not arrive.
    private(set) var incarnation = 0
    private var leases: Int64 = 0x10
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
    private func perform(
        _ request: TransactionRequest
    ) -> (Outcome<TransactionRequest.Answer>, isDone: Bool) {
        let isPut = request.success.contains { if case .put = $0 { true } else { false } }
        if self.isFull, isPut, self.simulator.happens(700) { return (.unknown(.full), false) }
        let outcome = self.changing { $0.perform(request) }
        return (self.isFull && isPut ? .unknown(.full) : outcome, true)
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
    func send(
        _ request: TransactionRequest,
        isCut: @escaping () -> Bool,
        isAlive: @escaping () -> Bool,
        end: @escaping (Outcome<TransactionRequest.Answer>) -> Void
    ) {
        let incarnation = self.incarnation
        let simulator = self.simulator
        let faults = self.faults
        var isOpen = true
        let finish: (Outcome<TransactionRequest.Answer>) -> Void = { outcome in
            guard isOpen, isAlive() else { return }
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
        let way = faults.way(simulator) + (isLate ? simulator.draw(0..<2 * faults.callTimeout) : 0)
        func arrive(_ answers: Bool) {
            guard self.incarnation == incarnation, !isCut() else { return }
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
            let (outcome, isDone) = self.perform(request)
            // What was refused for sure, or was not to be done, is not done later.
            if isTwice, isDone, outcome.isDone, answers {
                simulator.after(simulator.draw(0..<2 * faults.callTimeout)) { arrive(false) }
            }
            guard answers, !isUnanswered else { return }
            simulator.after(faults.way(simulator)) { if !isCut() { finish(outcome) } }
        }
        if !isLost { simulator.after(way) { arrive(true) } }
    }

    /// Does what somebody else asks for.
    func performNow(_ operation: TransactionRequest.Operation) {
        self.changing { _ = $0.perform(TransactionRequest(if: [], then: [operation])) }
    }

    /// What a member that lags would answer.
    func stale(_ request: TransactionRequest) -> TransactionRequest.Answer? {
        guard var model = self.snapshots.last, case .answered(let answer) = model.perform(request)
        else { return nil }
        return answer
    }

    // MARK: - What happens to it

    func grant(for time: Int64) -> Int64 {
        self.leases += 1
        let lease = self.leases
        self.changing { $0.grant(lease, until: self.simulator.now + time) }
        self.endLeases(in: time)
        return lease
    }

    func keepAlive(_ lease: Int64, for time: Int64) -> Bool {
        defer { self.endLeases(in: time) }
        return self.changing { $0.keepAlive(lease, until: self.simulator.now + time) }
    }

    private func endLeases(in time: Int64) {
        self.simulator.after(time) {
            guard self.hasLeader else {
                return self.endLeases(in: self.leaderlessUntil - self.simulator.now + 1000)
            }
            self.changing { $0.endLeases(at: self.simulator.now) }
        }
    }

    func loseLeader(for time: Int64, extendingLeasesBy lease: Int64) {
        self.simulator.note("the leader is lost")
        self.leaderlessUntil = max(self.leaderlessUntil, self.simulator.now + time)
        self.model.extendLeases(until: self.leaderlessUntil + lease)
        self.endLeases(in: time + lease)
    }

    func takeSnapshot() {
        self.snapshots.append(self.model)
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
            "restored: revision \(self.model.revision) becomes \(snapshot.revision)"
        )
        self.model = snapshot
        self.model.extendLeases(until: self.simulator.now + time)
        self.endLeases(in: time)
        self.snapshots = []
        self.incarnation += 1
        self.record.restored(self.model, at: self.simulator.now)
        for tell in self.whenRestored { tell() }
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
    }

    /// Some things go on when nothing is wrong.
    var calm: SimulatedFaults {
        var calm = SimulatedFaults()
        (calm.fragments, calm.compaction) = (self.fragments, self.compaction)
        return calm
    }
}
#endif
