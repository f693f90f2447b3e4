#if Cluster
package import NIOCore
package import StateMachineCore
package import StateMachineProtocol
import Synchronization

/// Where a machine that several hosts share records its changes, and learns of theirs: in the engine.
///
/// Everything happens on one event loop, in one order: what ``SharedMachine`` decides is done here, so nothing of another host is entered
/// between a group of this one and its answer. Guarded state: `performer`, which belongs to that loop.
package final class SharedRecording: Recording, MachineSharing {
    package struct Settings: Sendable {
        package var endpoints: [EtcdEndpoint]
        package var credentials: EtcdCredentials?
        /// The name that the machine has in the engine.
        package var machine: String
        package var host: String
        /// Changes that the log keeps, if this host begins the machine.
        package var keepChanges: UInt64 = 10_000
        package var timeToLive = Duration.seconds(10)
        package var checkInterval = Duration.seconds(1)
        package var staleAfter = Duration.seconds(3)
        package var callTimeout = Duration.seconds(1)
        package var setTimeout = Duration.seconds(5)
        /// Which daemon this is, among all that ever ran for this host.
        package var instance = UInt64.random(in: 0...UInt64.max).digits(16, radix: 16)
        /// Leases of an earlier life of this host, under which keys of its own may be; oldest first.
        package var leases: [Int64] = []
        /// Has the host's own leases on its disk before it calls what it is given, from anywhere.
        package var remember: @Sendable ([Int64], _ done: @escaping @Sendable () -> Void) -> Void =
            { $1() }

        package init(
            _ endpoints: [EtcdEndpoint],
            _ credentials: EtcdCredentials? = nil,
            machine: String,
            host: String
        ) {
            (self.endpoints, self.credentials) = (endpoints, credentials)
            (self.machine, self.host) = (machine, host)
        }
    }

    /// Changes of one group.
    ///
    /// 1024: as many as proposals. They are one value under one key.
    private static let largestGroup = 1024
    /// Holds and guards of one group, begun or ended.
    ///
    /// 100: etcd takes 128 operations in a transaction.
    static let largestElection = 100
    /// Bytes of one group.
    ///
    /// 1 MiB: etcd takes 1.5 MiB in a request.
    private static let largestBlock = 1 << 20

    package let machineName: String
    package let host: String
    private let form: SharedForm
    private let loop: any EventLoop
    private let cache: (any SharedCache)?
    private let log: EngineLog
    private let starts: StayStarts

    package let place: Place?
    package let past: any PastStore

    private let performer: NIOLoopBoundBox<SharingPerformer>
    private let report: SharingReport

    /// - Parameters:
    ///   - settings: which machine, and where.
    ///   - schema: its states.
    ///   - cache: what this host keeps of it on its disk; nil: nothing.
    ///   - loop: where everything of it happens.
    package init(
        _ settings: Settings,
        _ schema: Schema,
        keeping cache: (any SharedCache)? = nil,
        on loop: any EventLoop
    ) {
        var settings = settings
        if let cache {
            (settings.instance, settings.leases) = (cache.instance, cache.leases)
            // What is not on the disk is not known after a kill, as without one.
            settings.remember = { leases, done in cache.remember(leases: leases) { _ in done() } }
        }
        (self.machineName, self.host) = (settings.machine, settings.host)
        let (form, left) = (SharedForm(schema: schema), cache?.left)
        (self.form, self.loop, self.cache) = (form, loop, cache)
        self.place = left.flatMap { form.place($0) }
        self.starts = StayStarts(
            left.map { left in
                let stay = left.newest.stay ?? left.newest.seq
                return left.times.flatMap { $0.start.stay == stay ? $0.start : nil }
                    ?? StayStart(stay: stay, moment: StayMoment(left.newest.at))
            } ?? StayStart(stay: 0, moment: StayMoment(.now)),
            clock: WallStayClock()
        )
        let report = SharingReport()
        let performer = NIOLoopBoundBox.makeBoxSendingValue(
            SharingPerformer(
                settings,
                form,
                at: self.place,
                by: self.starts,
                keeping: cache,
                telling: report,
                on: loop
            ),
            eventLoop: loop
        )
        (self.performer, self.report) = (performer, report)
        cache?.onSettingAside { file in
            loop.execute { performer.value.tell(happened: .setAside(file: file)) }
        }
        let keys = SharedKeys(machine: settings.machine)
        self.log = EngineLog(keys, form, in: left?.epoch ?? .random()) { request, done in
            loop.execute { performer.value.read(request, done) }
        }
        self.past = SharedPast(cache, self.log, isPlaced: self.place != nil, by: self.starts)
    }

    // MARK: - MachineSharing

    package func begin(moving machine: Machine, continuing session: SharedSession?) {
        self.onLoop { [log] in $0.begin(moving: machine, continuing: session, log) }
    }

    package var isSessionSure: Bool {
        KernelClock().moment.uptime < self.report.deadline.load(ordering: .sequentiallyConsistent)
    }

    package func session(_ done: @escaping @Sendable (SharedSession?) -> Void) {
        self.onLoop { done($0.continuation) }
    }

    package func vote(_ vote: Vote, on question: ForeignQuestion, by number: UInt64) {
        self.onLoop { $0.vote(vote, on: question, by: number) }
    }

    package func leaveSession() { self.onLoop { $0.leaveSession() } }

    package func tookOver() { self.onLoop { $0.tookOver() } }

    package var ageMs: Int64? {
        let (asked, now) = (self.report.asked.load(ordering: .relaxed), KernelClock().moment)
        if asked != 0 { return max(0, now.uptime - asked) / 1000 }
        // It was there in the last run, when the change was made, or later.
        return self.place.map { max(0, now.wall.microseconds - $0.at.microseconds) / 1000 }
    }

    package var foreignVoters: [ForeignVoter] { self.report.voters.withLock { $0 } }

    package var rank: Int { self.report.rank.load(ordering: .relaxed) }

    package func takeArrival() -> Epoch? {
        self.report.arrivals.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    package func confirm(_ done: @escaping @Sendable (SharingTrouble?) -> Void) {
        self.onLoop { $0.confirm(done) }
    }

    package func hosts(_ done: @escaping @Sendable (SharingHosts) -> Void) {
        self.onLoop { $0.hosts(done) }
    }

    package var counts: SharingCounts { self.report.counts.withLock { $0 } }

    package func onNews(_ handler: @escaping @Sendable (SharingNews) -> Void) {
        self.onLoop { $0.tell(handler) }
    }

    /// Connects anew, as whoever these say that this host is.
    package func use(_ credentials: EtcdCredentials) { self.onLoop { $0.use(credentials) } }

    // MARK: - Recording

    package var isCurrent: Bool { self.loop.inEventLoop }

    package var confirms: Bool { true }

    package func room(for records: [Record]) -> Int {
        var (changes, voters, bytes) = (0, 0, 0)
        for (index, record) in records.enumerated() {
            switch record {
            case .change(let change):
                changes += 1
                bytes += self.form.length(of: change)
            case .voter(let voter):
                voters += 1
                bytes += SharedForm.length(of: voter)
            case .voterEnded: voters += 1
            case .stay, .times, .links, .declared: break
            }
            let fits =
                changes <= Self.largestGroup && voters <= Self.largestElection
                && bytes <= Self.largestBlock
            if !fits { return max(index, 1) }
        }
        return records.count
    }

    package func record(_ group: [Record], done: @escaping @Sendable (Recorded) -> Void) {
        self.onLoop { $0.record(group, done) }
    }

    package func settle(done: @escaping @Sendable (_ failure: String?) -> Void) {
        self.onLoop { [cache] performer in
            performer.stop { if let cache { cache.settle(done: done) } else { done(nil) } }
        }
    }

    /// Never at once: whoever calls may be in the middle of what it does.
    private func onLoop(_ body: @escaping @Sendable (SharingPerformer) -> Void) {
        self.loop.execute { body(self.performer.value) }
    }
}
#endif
