#if Cluster
import NIOCore
import StateMachineCore

/// Keeps a session with the engine: a lease, kept alive while there is a connection, and another one once it has ended.
///
/// Belongs to its event loop.
final class SessionKeeper {
    private struct Session {
        let lease: Int64
        /// From then on nobody relies on it, and it is not kept alive again, on ``KernelClock``: an answer that is late may be about a
        /// lease whose keys are gone.
        var deadline: Int64
        var alarm: Scheduled<Void>?
    }

    /// How much earlier this host gives a session up than the engine may.
    private static let margin = Duration.seconds(1)
    /// How long to wait after a lease could not be had or kept alive.
    ///
    /// 500 ms: twice that fits into the shortest session.
    private static let pause = TimeAmount.milliseconds(500)

    private let timeToLive: Duration
    private let limit: Duration
    private let loop: any EventLoop
    /// Told of the lease; nil: there is none.
    private let tell: (Int64?) -> Void
    private let clock = KernelClock()
    private var connection: EtcdConnection?
    private var session: Session?
    private var isAsking = false
    private var next: Scheduled<Void>?
    private var isStopped = false

    /// - Parameters:
    ///   - timeToLive: how long it outlives the last time that it was kept alive.
    ///   - limit: how long a call may take.
    ///   - loop: where everything of it happens.
    ///   - tell: called there with the lease, and with nil once it is no longer to be relied on.
    init(
        for timeToLive: Duration,
        within limit: Duration,
        on loop: any EventLoop,
        tell: @escaping (Int64?) -> Void
    ) {
        (self.timeToLive, self.limit, self.loop, self.tell) = (timeToLive, limit, loop, tell)
    }

    func connected(_ connection: EtcdConnection) {
        self.connection = connection
        self.keep()
    }

    func disconnected() { self.connection = nil }

    /// That lease has ended, as the engine shows.
    func gone(_ lease: Int64) {
        if lease == self.session?.lease { self.end() }
    }

    /// Ends it, so that what belongs to it goes at once; `done` is called when the engine knows, or cannot be told.
    func stop(_ done: @escaping () -> Void) {
        self.isStopped = true
        self.next?.cancel()
        self.session?.alarm?.cancel()
        guard let connection, let session = self.session.take() else { return done() }
        let done = NIOLoopBound(done, eventLoop: self.loop)
        connection.call(LeaseRevokeRequest(session.lease), within: self.limit) { _ in done.value() }
    }

    private var now: Int64 { self.clock.moment.uptime }

    /// Has the lease last its whole time again, or gets one.
    private func keep() {
        guard !self.isStopped, !self.isAsking, let connection else { return }
        self.next?.cancel()
        if let session, session.deadline <= self.now { return self.end() }
        self.isAsking = true
        let (sent, lease) = (self.now, self.session?.lease)
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        let done: @Sendable (Outcome<Lease>) -> Void = { outcome in
            bound.value.isAsking = false
            bound.value.ended(outcome, of: lease, sent: sent)
        }
        if let lease {
            connection.call(LeaseKeepAliveRequest(lease), within: self.limit, done: done)
        } else {
            let seconds = self.timeToLive.components.seconds
            connection.call(LeaseGrantRequest(seconds: seconds), within: self.limit, done: done)
        }
    }

    private func ended(_ outcome: Outcome<Lease>, of lease: Int64?, sent: Int64) {
        switch outcome {
        case .answered(let answer) where answer.seconds > 0:
            // It may have been given up meanwhile.
            guard !self.isStopped, lease == self.session?.lease else { return self.keep(in: .zero) }
            self.last(answer, since: sent)
        case .answered: if lease == self.session?.lease { self.end() }
        case .refused(let refusal) where refusal.kind == .leaseGone && lease == self.session?.lease:
            self.end()
        case .refused, .unknown: self.keep(in: Self.pause)
        }
    }

    private func last(_ lease: Lease, since sent: Int64) {
        let isNew = self.session == nil
        let time = Duration.seconds(lease.seconds) - Self.margin
        let deadline = sent + time.microseconds
        self.session?.alarm?.cancel()
        self.session = Session(
            lease: lease.id,
            deadline: deadline,
            alarm: self.loop.assumeIsolated().scheduleTask(
                in: .microseconds(max(0, deadline - self.now))
            ) { self.alarmRang() }
        )
        if isNew { self.tell(lease.id) }
        self.keep(in: TimeAmount(self.timeToLive / 4))
    }

    private func alarmRang() {
        guard let session, session.deadline <= self.now else { return }
        self.end()
    }

    private func end() {
        self.session?.alarm?.cancel()
        guard self.session.take() != nil else { return }
        self.tell(nil)
        self.keep(in: .zero)
    }

    private func keep(in time: TimeAmount) {
        guard !self.isStopped else { return }
        self.next?.cancel()
        self.next = self.loop.assumeIsolated().scheduleTask(in: time) { self.keep() }
    }
}

extension Duration {
    fileprivate var microseconds: Int64 {
        self.components.seconds * 1_000_000 + self.components.attoseconds / 1_000_000_000_000
    }
}
#endif
