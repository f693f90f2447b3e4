#if Cluster
package import StateMachineCore
import StateMachineProtocol

/// A host's session with the engine: its lease, until when the host counts on it, and its record among the hosts.
///
/// A value that decides and does nothing, and has no clock: each event comes with the moment at which it is told. What a deadline is counted
/// by has to count suspended time too, and the deadline is earlier than the engine's: whoever goes by it never believes in a hold
/// that others have seen end.
package struct Session: Sendable {
    package struct Settings: Sendable {
        package var keys: SharedKeys
        package var host: String
        /// The record; its lease, seq and wall time are those of the moment at which it is put.
        package var record: HostRecord

        package init(_ keys: SharedKeys, host: String, _ record: HostRecord) {
            (self.keys, self.host, self.record) = (keys, host, record)
        }
    }

    /// What another process, which continues the session, has to know.
    package struct Continuation: Hashable, Sendable {
        package let lease: Int64
        /// In microseconds of uptime.
        package let deadline: Int64

        package init(lease: Int64, deadline: Int64) {
            (self.lease, self.deadline) = (lease, deadline)
        }
    }

    package enum Timer: Hashable, Sendable {
        /// The lease is to be kept alive, or what failed is to be tried again.
        case keep
        case deadline
        /// A record of another instance has to be gone.
        case other
    }

    package enum Event: Sendable {
        case connected
        case disconnected
        case granted(UInt64, Outcome<Lease>)
        case kept(UInt64, Outcome<Lease>)
        case ended(UInt64, Outcome<TransactionRequest.Answer>)
        case due(Timer)
        /// The host has come to that seq.
        case reached(UInt64)
        /// That lease has ended, or a key of it is gone that only its end can have removed.
        case gone(lease: Int64)
    }

    package enum Action: Hashable, Sendable {
        case grant(UInt64, LeaseGrantRequest)
        case keep(UInt64, LeaseKeepAliveRequest)
        case send(UInt64, TransactionRequest)
        /// These are the host's own leases: on the disk before anything that follows is done.
        case remember([Int64])
        /// It has begun; or, with nil, ended: what connections hold by it is no longer there.
        case session(Int64?)
        /// Holds and guards of an earlier life, which are of this session now; comes before that begins.
        case takeOver([UInt64: [UInt8]])
        case arm(Timer, Duration)
        case disarm(Timer)
        /// The daemon ends, and why.
        case end(String)
    }

    /// How much earlier than the engine a host gives a lease up.
    ///
    /// A second: both count from different moments and with different clocks, and a hold's end has to be told.
    private static let margin: Int64 = 1_000_000
    /// How long until what failed is tried again.
    private static let pause = Duration.seconds(1)
    /// Keys that are put onto a lease, or deleted, at once.
    private static let batch = SharedRecording.largestElection
    /// Leases that are remembered.
    ///
    /// 16: a snapshot that is put back has an older one's keys.
    private static let remembered = 16
    /// The longest time to live of another host's record that is awaited, in seconds.
    ///
    /// The longest that can be set.
    private static let longestWait: UInt64 = 60

    private enum State {
        /// There is no lease.
        case none
        /// It was granted, and own keys are put onto it.
        case registering(Continuation)
        case begun(Continuation)
        case over
    }

    private enum Errand {
        case look
        case register
        /// With what it puts into the record, if that is due.
        case check(Put?)
    }

    /// What was put into the record, and when.
    private struct Put {
        let seq: UInt64
        let at: Int64
    }

    private let settings: Settings
    /// Leases under which own keys may be, newest last.
    private var leases: [Int64]
    /// Whether own voters are those of an earlier life, and not of a session that has ended.
    private var inherits: Bool
    private var state = State.none
    private var isConnected = false
    private var sent: UInt64 = 0
    private var errand: (number: UInt64, what: Errand)?
    private var grant: (number: UInt64, at: Int64)?
    private var keep: (number: UInt64, at: Int64)?
    /// The instance whose record is there, and until when that may be.
    private var other: (instance: String, until: Int64)?
    private var seq: UInt64 = 0
    private var put: Put?

    private var actions: [Action] = []

    /// - Parameters:
    ///   - settings: which host.
    ///   - leases: what was remembered in an earlier life.
    package init(_ settings: Settings, remembering leases: [Int64] = []) {
        self.settings = settings
        self.leases = leases
        self.inherits = !leases.isEmpty
    }

    /// Continues it in another process.
    package init(_ settings: Settings, continuing continuation: Continuation) {
        self.settings = settings
        self.leases = [continuation.lease]
        self.inherits = false
        self.state = .begun(continuation)
    }

    /// What another process needs to continue it; nil while it has not begun.
    package var continuation: Continuation? {
        switch self.state {
        case .begun(let continuation): continuation
        case .none, .registering, .over: nil
        }
    }

    /// The lease that was granted last, while it is of use.
    package var lease: Int64? { self.current?.lease }

    /// Whether what this session holds is certainly there at that moment.
    package func isSure(at moment: StayMoment) -> Bool {
        self.continuation.map { moment.uptime < $0.deadline } ?? false
    }

    package mutating func thisHappened(_ event: Event, at moment: StayMoment) -> [Action] {
        // The daemon, or the whole computer, may have slept: what has passed is over, whatever else has happened.
        self.endIfDue(moment)
        switch event {
        case .connected: self.connected(moment)
        case .disconnected:
            self.isConnected = false
            (self.errand, self.grant, self.keep) = (nil, nil, nil)
        case .granted(let number, let outcome): self.granted(number, outcome, moment)
        case .kept(let number, let outcome): self.kept(number, outcome, moment)
        case .ended(let number, let outcome): self.ended(number, outcome, moment)
        case .due(let timer): self.due(timer, moment)
        case .reached(let seq): self.seq = seq
        case .gone(let lease): if self.current?.lease == lease { self.end() }
        }
        defer { self.actions = [] }
        return self.actions
    }

    // MARK: - Lease and deadline

    private var current: Continuation? {
        switch self.state {
        case .registering(let continuation), .begun(let continuation): continuation
        case .none, .over: nil
        }
    }

    private mutating func endIfDue(_ moment: StayMoment) {
        if let current, moment.uptime >= current.deadline { self.end() }
    }

    private mutating func end() {
        if case .begun = self.state {
            self.actions.append(.session(nil))
            self.inherits = false
        }
        self.state = .none
        (self.errand, self.grant, self.keep, self.put) = (nil, nil, nil, nil)
        self.actions += [.disarm(.keep), .disarm(.deadline)]
        self.look()
    }

    private mutating func connected(_ moment: StayMoment) {
        self.isConnected = true
        switch self.state {
        case .begun(let continuation):
            self.armDeadline(continuation, moment)
            self.sendKeep(continuation, moment)
        case .none, .registering: self.look()
        case .over: break
        }
    }

    private mutating func due(_ timer: Timer, _ moment: StayMoment) {
        switch (timer, self.state) {
        case (.keep, .begun(let continuation)): self.sendKeep(continuation, moment)
        case (.deadline, .begun(let continuation)), (.deadline, .registering(let continuation)):
            self.armDeadline(continuation, moment)
        case (.keep, .none), (.keep, .registering), (.other, .none): self.look()
        case (_, .over), (.deadline, .none), (.other, .registering), (.other, .begun): break
        }
    }

    private mutating func armDeadline(_ continuation: Continuation, _ moment: StayMoment) {
        let left = max(0, continuation.deadline - moment.uptime)
        self.actions.append(.arm(.deadline, .microseconds(left)))
    }

    /// Two of three may be lost without harm.
    private var third: Duration { .seconds(Int64(self.settings.record.secondsToLive)) / 3 }

    private mutating func sendKeep(_ continuation: Continuation, _ moment: StayMoment) {
        guard self.isConnected else { return }
        self.actions.append(.arm(.keep, self.third))
        guard self.keep == nil else { return }
        self.sent += 1
        self.keep = (self.sent, moment.uptime)
        self.actions.append(.keep(self.sent, LeaseKeepAliveRequest(continuation.lease)))
    }

    private mutating func kept(
        _ number: UInt64,
        _ outcome: Outcome<Lease>,
        _ moment: StayMoment
    ) {
        guard let keep, keep.number == number, case .begun(let continuation) = self.state else {
            return
        }
        self.keep = nil
        switch outcome {
        case .answered(let lease) where lease.id == continuation.lease && lease.seconds > 0:
            let kept = Continuation(lease, sentAt: keep.at, giving: Self.margin)
            guard kept.deadline > continuation.deadline else { break }
            self.state = .begun(kept)
            self.armDeadline(kept, moment)
            self.check(kept, moment)
        case .answered: self.end()
        case .refused(let refusal) where refusal.kind == .leaseGone: self.end()
        case .refused, .unknown: self.actions.append(.arm(.keep, Self.pause))
        }
    }

    private mutating func granted(
        _ number: UInt64,
        _ outcome: Outcome<Lease>,
        _ moment: StayMoment
    ) {
        guard let grant, grant.number == number, case .none = self.state else { return }
        self.grant = nil
        switch outcome {
        case .answered(let lease) where lease.id != 0:
            let granted = Continuation(lease, sentAt: grant.at, giving: Self.margin)
            guard granted.deadline > moment.uptime else { return self.look() }
            self.state = .registering(granted)
            self.leases = self.leases.suffix(Self.remembered - 1) + [lease.id]
            self.actions.append(.remember(self.leases))
            self.armDeadline(granted, moment)
            self.look()
        case .answered, .refused, .unknown: self.actions.append(.arm(.keep, Self.pause))
        }
    }

    // MARK: - Own keys

    private mutating func look() {
        guard self.isConnected, self.errand == nil, self.grant == nil else { return }
        self.send(.look, self.settings.keys.look(ownOf: self.settings.host))
    }

    private mutating func send(_ errand: Errand, _ request: TransactionRequest) {
        self.sent += 1
        self.errand = (self.sent, errand)
        self.actions.append(.send(self.sent, request))
    }

    private mutating func ended(
        _ number: UInt64,
        _ outcome: Outcome<TransactionRequest.Answer>,
        _ moment: StayMoment
    ) {
        guard let errand, errand.number == number else { return }
        self.errand = nil
        switch (errand.what, outcome) {
        case (.look, .answered(let answer)):
            self.looked(OwnKeys(answer, of: self.settings.host, self.settings.keys), moment)
        // What was put is seen, and what was not is put then.
        case (.register, .answered), (.register, .unknown): self.look()
        case (.register, .refused(let refusal)) where refusal.kind == .leaseGone: self.end()
        case (.look, .refused), (.look, .unknown), (.register, .refused):
            self.actions.append(.arm(.keep, Self.pause))
        case (.check(let put), .answered(let answer)):
            guard answer.succeeded else { return self.end() }
            if let put { self.put = put }
        case (.check, .refused), (.check, .unknown): break
        }
    }

    private mutating func looked(_ own: OwnKeys, _ moment: StayMoment) {
        if let record = own.record, !self.leases.contains(record.lease) {
            return self.wait(for: record, moment)
        }
        self.other = nil
        switch self.state {
        case .none:
            self.sent += 1
            self.grant = (self.sent, moment.uptime)
            let seconds = Int64(self.settings.record.secondsToLive)
            self.actions.append(.grant(self.sent, LeaseGrantRequest(seconds: seconds)))
        case .registering(let continuation):
            let isThere = own.record?.lease == continuation.lease
            let rest = own.voters.filter { $0.value.lease != continuation.lease }
            guard !isThere || !rest.isEmpty else { return self.begin(continuation, own) }
            self.put = Put(seq: self.seq, at: moment.uptime)
            self.send(
                .register,
                self.settings.keys.register(
                    self.settings.host,
                    self.record(continuation, moment),
                    over: own,
                    rest.keys.sorted().prefix(Self.batch).map { $0 },
                    areKept: self.inherits
                )
            )
        case .begun, .over: break
        }
    }

    private mutating func begin(_ continuation: Continuation, _ own: OwnKeys) {
        self.state = .begun(continuation)
        if self.inherits, !own.voters.isEmpty {
            self.actions.append(.takeOver(own.voters.mapValues(\.value)))
        }
        self.inherits = false
        self.actions.append(.session(continuation.lease))
        self.actions.append(.arm(.keep, self.third))
    }

    /// Sees whether the own record is there, and puts it if it is old.
    private mutating func check(_ continuation: Continuation, _ moment: StayMoment) {
        guard self.errand == nil else { return }
        let half = Int64(self.settings.record.secondsToLive) * 500_000
        let isOld = self.put.map { $0.seq != self.seq && moment.uptime - $0.at >= half } ?? true
        let put = isOld ? Put(seq: self.seq, at: moment.uptime) : nil
        self.send(
            .check(put),
            self.settings.keys.check(
                self.settings.host,
                lease: continuation.lease,
                put.map { _ in self.record(continuation, moment) }
            )
        )
    }

    private func record(_ continuation: Continuation, _ moment: StayMoment) -> HostRecord {
        var record = self.settings.record
        (record.session, record.seq, record.wall) = (continuation.lease, self.seq, moment.wall)
        return record
    }

    /// Another daemon has this host's name: it may have ended just now, or this one does.
    private mutating func wait(for record: OwnKeys.Record, _ moment: StayMoment) {
        // What was granted meanwhile is of no use.
        if case .registering = self.state { self.state = .none }
        let instance = record.value?.instance ?? "of another program"
        guard let other, other.instance == instance else {
            let seconds = min(record.value?.secondsToLive ?? Self.longestWait, Self.longestWait)
            // It may have ended just before a change of leaders, at which leases begin again.
            self.other = (instance, moment.uptime + 2 * Int64(seconds) * 1_000_000)
            return self.actions.append(.arm(.other, Self.pause))
        }
        guard moment.uptime >= other.until else {
            return self.actions.append(.arm(.other, Self.pause))
        }
        self.state = .over
        let isCopy = instance == self.settings.record.instance
        self.actions.append(
            .end(
                isCopy
                    ? "another daemon runs as host \(self.settings.host.quoted) of \(self.settings.keys.prefix) with a copy of this one's state directory: "
                        + "give each host a name and a state directory of its own"
                    : "host \(self.settings.host.quoted) of \(self.settings.keys.prefix) is instance \(instance), which runs, and this is instance "
                        + "\(self.settings.record.instance): give each host a name of its own with the setting host"
            )
        )
    }
}

extension Session.Continuation {
    /// A lease counts from the sending of what was answered by it.
    fileprivate init(_ lease: Lease, sentAt: Int64, giving margin: Int64) {
        // An engine that says more than a century is not to be reckoned with.
        let seconds = min(lease.seconds, 1 << 32)
        self.init(lease: lease.id, deadline: sentAt + seconds * 1_000_000 - margin)
    }
}
#endif
