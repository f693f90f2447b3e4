#if Cluster
import StateMachineCore
import StateMachineProtocol

@testable import StateMachineEtcd

/// Several hosts that share a machine, and what may go wrong: one seed, one run, always the same.
final class Simulation {
    /// A rule that is broken on purpose, to see that it is missed.
    enum BrokenRule: String, CaseIterable {
        case noFence
        case votersNotCompared
        case halfResponses
        case prunesTooMuch
        case watchBeginsLate
        case confirmsNothing
        case unsureIsCommitted
        case readsAreStale
        case ticketsAreKept
        case renewalsArePassedOver
        case timesAreNotJudged
    }

    /// How long the machine stays where a client has set it, in microseconds.
    static let delay: Int64 = 400_000

    let simulator: Simulator
    let record: SimulatedRecord
    let engine: SimulatedEngine
    private(set) var faults: SimulatedFaults
    private var hosts: [SimulatedHost] = []
    private let broken: BrokenRule?
    private(set) var isOver = false
    /// Whether all clients set, as fast as they can.
    private(set) var isBusy = false
    private var id: Int64 = 0
    private var outsiders: UInt64 = 0
    private var isCalm = false
    private let keepChanges: UInt64
    private let clients: Int

    let staleAfter: Int64 = 3_000_000
    let setTimeout: Int64 = 5_000_000
    let timeToLive: Int64 = 6_000_000

    init(seed: UInt64, breaking broken: BrokenRule? = nil, isTold: Bool = false) {
        let simulator = Simulator(seed: seed, isTold: isTold)
        self.simulator = simulator
        self.broken = broken
        self.keepChanges = simulator.happens(500) ? 20 : 1000
        self.faults = SimulatedFaults(simulator)
        self.clients = Int(simulator.draw(1..<3))
        self.record = SimulatedRecord(SharedKeys(machine: "lamp"), keepChanges: self.keepChanges)
        self.engine = SimulatedEngine(simulator, self.faults, self.record)
        let count = simulator.happens(100) ? 8 : Int(simulator.draw(2..<5))
        self.hosts = (0..<count).map { SimulatedHost(self, "host\($0)") }
        for host in self.hosts {
            self.engine.whenChanged.append { [unowned host] in host.pumpSoon() }
            self.engine.whenRestored.append { [unowned host] in host.engineEnded() }
        }
        self.record.deadline = { [unowned self] voter in
            self.hosts.first { $0.name == voter.host }?.deadline ?? .max
        }
        self.record.countsOn = { [unowned self] voter in
            self.hosts.first { $0.name == voter.host }?.countsOn(voter.number) ?? false
        }
    }

    func settings(_ host: String) -> SharedMachine.Settings {
        let beginning = SharedChange("off", .object([]), at: WallTime(microseconds: 0), stay: 0)
        var settings = SharedMachine.Settings(
            self.record.keys,
            host: host,
            beginning: beginning,
            form: "form"
        )
        (settings.keepChanges, settings.largestGroup, settings.pruneEvery) = (
            self.keepChanges, 6, 3
        )
        return settings
    }

    func sessionSettings(_ host: String, instance: Int) -> Session.Settings {
        Session.Settings(
            self.record.keys,
            host: host,
            HostRecord(
                instance: "\(host)-\(instance)",
                boot: "boot",
                version: "1",
                layouts: 1...1,
                form: "form",
                declaration: "declaration",
                session: 0,
                secondsToLive: UInt64(self.timeToLive / 1_000_000),
                seq: 0,
                wall: WallTime(microseconds: 0)
            )
        )
    }

    func nextID() -> Int64 {
        self.id += 1
        return self.id
    }

    /// How long that host leaves what is due to those before it.
    func turn(of host: String) -> Int64 {
        Int64(self.hosts.firstIndex { $0.name == host } ?? 0) * 100_000
    }

    func isBroken(_ rule: BrokenRule) -> Bool { self.broken == rule }

    // MARK: - Running

    /// - Returns: what was wrong.
    func run() -> [String] {
        let isFast = self.simulator.happens(150)
        for host in self.hosts {
            host.set(pace: isFast ? 20_000 : self.simulator.draw(200_000..<900_000))
            host.begin(clients: self.clients)
        }
        self.meetTrouble()
        self.simulator.run(until: isFast ? 1_500_000 : self.simulator.draw(2_000_000..<8_000_000))
        self.calm()
        return self.record.violations
    }

    /// A hold that is put without the head, as those are that a session takes over.
    private func hold() {
        // Without the head a hole in the watch is not seen.
        guard !self.isCalm, self.faults.watchHole == 0, self.engine.hasLeader, !self.engine.isFull
        else { return }
        self.outsiders += 1
        let voter = SharedKeys.Voter("outsider", self.outsiders)
        let range = KeyRange(self.record.keys.voter(voter))
        self.engine.performNow(.put(PutRequest(self.record.keys.voter(voter), Array("{}".utf8))))
        let index = self.record.holds.count
        self.record.holds.append(.init(answered: self.simulator.now, ended: nil, voter: voter))
        self.simulator.note("\(voter) holds")
        self.simulator.after(self.simulator.draw(1000..<500_000)) {
            if self.record.holds[index].ended == nil {
                self.record.holds[index].ended = self.simulator.now
            }
            self.engine.performNow(.delete(DeleteRequest(range)))
        }
    }

    private func meetTrouble() {
        if self.simulator.happens(150) {
            self.simulator.after(self.simulator.draw(0..<50_000)) { self.hold() }
        }
        self.simulator.after(self.simulator.draw(50_000..<500_000)) {
            let faults = self.faults
            if self.simulator.happens(300) { self.engine.takeSnapshot() }
            if self.simulator.happens(faults.leader) {
                self.engine.loseLeader(
                    for: self.simulator.draw(100_000..<1_500_000),
                    extendingLeasesBy: self.timeToLive
                )
            }
            if self.simulator.happens(faults.keysLost) { self.engine.loseKeys() }
            if self.simulator.happens(faults.compaction) { self.engine.compact() }
            if self.simulator.happens(faults.restore) {
                self.engine.restore(extendingLeasesBy: self.timeToLive)
            }
            if self.simulator.happens(faults.full) {
                self.simulator.note("the engine is full")
                self.engine.isFull = true
                self.simulator.after(self.simulator.draw(100_000..<3_000_000)) {
                    self.engine.isFull = false
                }
            }
            if let host = self.hosts.randomElement(using: &self.simulator.generator) {
                if self.simulator.happens(faults.cut), !host.isCut {
                    self.simulator.note("\(host.name): is cut off")
                    host.isCut = true
                    self.simulator.after(self.simulator.draw(100_000..<6_000_000)) {
                        host.isCut = false
                    }
                }
                if self.simulator.happens(faults.sleep) {
                    host.sleep(for: self.simulator.draw(100_000..<9_000_000))
                }
                if self.simulator.happens(faults.crash) { host.crash(clients: self.clients) }
            }
            self.meetTrouble()
        }
    }

    /// All that was wrong ends; then everybody has to get what they ask for, and to be where the engine is.
    private func calm() {
        self.simulator.note("all is well from now on")
        self.faults = self.faults.calm
        self.isCalm = true
        self.record.endHolds(of: "outsider", at: self.simulator.now)
        self.engine.performNow(
            .delete(DeleteRequest(KeyRange(prefix: "\(self.record.keys.prefix)voters/outsider/")))
        )
        (self.engine.faults, self.engine.isFull) = (self.faults, false)
        for host in self.hosts {
            host.isCut = false
            host.set(pace: 3_000_000)
        }
        let awake = self.hosts.map(\.asleepUntil).max() ?? 0
        self.simulator.run(until: max(self.simulator.now, awake) + 9_000_000)
        for host in self.hosts {
            host.set(pace: 150_000)
            host.isCounting = true
        }
        if self.simulator.happens(200) { self.engine.leaveTicket() }
        // Until the last hold was released.
        self.simulator.run(until: self.simulator.now + 1_600_000)
        self.isBusy = self.simulator.happens(300) && !self.hosts.contains(where: \.isHeld)
        if self.isBusy {
            for host in self.hosts {
                host.set(pace: 500)
                host.isCounting = true
            }
            self.hosts[0].distance = self.simulator.happens(500) ? 2000 : 0
            self.simulator.run(until: self.simulator.now + 400_000)
            for host in self.hosts where host.longestWait > 300_000 {
                self.record.violation("starved: \(host.name) waits for \(host.longestWait)")
            }
        }
        let lowest = self.hosts.map(\.acknowledged).min() ?? 0
        let highest = self.hosts.map(\.acknowledged).max() ?? 0
        for host in self.hosts {
            for failure in host.failures.prefix(3) {
                self.record.violation("all is well, and \(failure)")
            }
            if host.worstWait > 3_000_000 {
                self.record.violation("\(host.name): waited \(host.worstWait)")
            }
        }
        // Whoever is far away has to wait longer for each answer.
        let factor = self.hosts[0].distance > 0 ? 12 : 4
        if self.isBusy, lowest * factor < highest {
            self.record.violation("starved: one had \(lowest), another \(highest)")
        }
        self.isOver = true
        self.simulator.run(until: self.simulator.now + 3_000_000)
        let end = self.record.head.map { self.record.position($0.epoch, $0.seq) }
        for host in self.hosts {
            let isThere =
                host.place == end && host.isUp && host.isIdle
                && host.last == self.record.head?.last
            if !isThere {
                self.record.violation(
                    "at the end \(host.state), and the engine at \(end?.description ?? "nothing")"
                )
            }
        }
        if self.record.head?.last.state == "on" {
            self.record.violation("a time has come, and nobody has moved the machine")
        }
        self.checkSessions()
        self.record.check()
    }

    /// What hosts count on is in the engine, and there is nothing there that nobody counts on.
    private func checkSessions() {
        let model = self.engine.model
        for host in self.hosts {
            let record = model.entries(KeyRange(self.record.keys.host(host.name))).first
            if record?.lease != host.sureLease || record == nil {
                self.record.violation(
                    "\(host.name) counts on lease \(host.sureLease ?? 0), and its record is of \(record?.lease ?? 0)"
                )
            }
        }
        let there = model.entries(self.record.keys.voters).compactMap { entry in
            if case .voter(let voter) = self.record.keys.subject(of: entry.key) {
                voter
            } else {
                nil
            }
        }
        let owned = self.hosts.reduce(into: Set<SharedKeys.Voter>()) { $0.formUnion($1.ownHolds) }
        if Set(there) != owned {
            self.record.violation("holds \(there) are there, and hosts count on \(owned)")
        }
    }

    // MARK: - Broken rules

    /// The answer to what is not sent.
    func broken(
        _ request: TransactionRequest,
        _ engine: SimulatedEngine
    ) -> Outcome<TransactionRequest.Answer>? {
        switch self.broken {
        case .noFence:
            guard request.comparisons.count == 1, request.success.count == 1,
                case .put(let put) = request.success[0],
                put.key == self.record.keys.head,
                case .modRevision(let revision) = request.comparisons[0].subject
            else { return nil }
            return .answered(
                TransactionRequest.Answer(
                    ResponseHeader(revision: revision),
                    succeeded: true,
                    [.put]
                )
            )
        case .readsAreStale:
            guard request.comparisons.isEmpty, self.simulator.happens(200) else { return nil }
            return engine.stale(request).map { .answered($0) }
        case .ticketsAreKept:
            guard request.success.count == 1, case .delete = request.success[0] else { return nil }
            return .answered(
                TransactionRequest.Answer(ResponseHeader(revision: 0), succeeded: true, [])
            )
        case .votersNotCompared, .halfResponses, .prunesTooMuch, .watchBeginsLate, .confirmsNothing,
            .unsureIsCommitted, .renewalsArePassedOver, .timesAreNotJudged, nil:
            return nil
        }
    }

    /// What is sent in its place.
    func altered(_ request: TransactionRequest, _ record: SimulatedRecord) -> TransactionRequest {
        var request = request
        switch self.broken {
        case .votersNotCompared: request.comparisons.removeAll { $0.keys == record.keys.voters }
        case .prunesTooMuch:
            for case (let index, .delete(let delete)) in request.success.enumerated()
            where !delete.keys.end.isEmpty && request.comparisons.count > 1 {
                guard let epoch = record.head?.epoch, let seq = record.head?.seq else { continue }
                request.success[index] = .delete(
                    DeleteRequest(record.keys.blocks(of: epoch, before: seq + 1))
                )
            }
        case .noFence, .halfResponses, .watchBeginsLate, .confirmsNothing, .unsureIsCommitted,
            .readsAreStale, .ticketsAreKept, .renewalsArePassedOver, .timesAreNotJudged, nil:
            break
        }
        return request
    }
}
#endif
