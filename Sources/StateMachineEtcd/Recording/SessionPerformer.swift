#if Cluster
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Does what a ``Session`` decides.
///
/// Belongs to its event loop.
final class SessionPerformer {
    enum News {
        /// It has begun; or, with nil, ended.
        case session(Int64?)
        /// Holds and guards of an earlier life are of the session that begins next.
        case tookOver([UInt64: [UInt8]])
        /// The daemon has to end, and why.
        case over(String)
    }

    /// Has a host's own leases on its disk before it calls what it is given, from anywhere.
    typealias Memory = @Sendable ([Int64], _ done: @escaping @Sendable () -> Void) -> Void

    /// How long a call may take.
    private let limit: Duration
    private let loop: any EventLoop
    private let clock: any StayClock = KernelClock()
    private let remember: Memory
    private let tell: (News) -> Void
    /// Told until when the session can be counted on; 0: there is none.
    private let noteDeadline: (Int64) -> Void

    private var decisions: Session
    private var connection: EtcdConnection?
    private var alarms: [Session.Timer: any StayTimer] = [:]
    /// What is still to be done: some of it is decided while something is done, and what was remembered has to be on the disk.
    private var actions = CircularBuffer<Session.Action>()
    private var isPerforming = false
    private var isStopped = false

    /// - Parameters:
    ///   - decisions: what decides.
    ///   - limit: how long a call may take.
    ///   - loop: where everything of it happens.
    ///   - remember: has leases on the disk.
    ///   - noteDeadline: called with until when the session can be counted on; 0: there is none.
    ///   - tell: called with what happens to it.
    init(
        _ decisions: Session,
        within limit: Duration,
        on loop: any EventLoop,
        remembering remember: @escaping Memory,
        noteDeadline: @escaping (Int64) -> Void,
        tell: @escaping (News) -> Void
    ) {
        (self.decisions, self.limit, self.loop) = (decisions, limit, loop)
        (self.remember, self.noteDeadline, self.tell) = (remember, noteDeadline, tell)
        noteDeadline(decisions.continuation?.deadline ?? 0)
    }

    func connected(_ connection: EtcdConnection) {
        self.connection = connection
        self.thisHappened(.connected)
    }

    func disconnected() {
        self.connection = nil
        self.thisHappened(.disconnected)
    }

    /// That lease has ended, as the engine shows.
    func gone(_ lease: Int64) { self.thisHappened(.gone(lease: lease)) }

    /// The host has come to that seq; whether the session's time is over is looked at as well.
    func reached(_ seq: UInt64) { self.thisHappened(.reached(seq)) }

    /// What another process needs to continue it; nil: there is none that can be counted on.
    var continuation: Session.Continuation? {
        self.decisions.isSure(at: self.clock.moment) ? self.decisions.continuation : nil
    }

    /// Ends it; `done` is called when the engine knows, or cannot be told.
    ///
    /// - Parameters:
    ///   - isLeft: whether another process continues it: then the engine is told nothing.
    ///   - done: called there.
    func stop(leaving isLeft: Bool, _ done: @escaping () -> Void) {
        self.isStopped = true
        self.noteDeadline(0)
        for alarm in self.alarms.values { alarm.stop() }
        (self.alarms, self.actions) = ([:], [])
        guard !isLeft, let connection, let lease = self.decisions.lease else { return done() }
        let done = NIOLoopBound(done, eventLoop: self.loop)
        connection.call(LeaseRevokeRequest(lease), within: self.limit) { _ in done.value() }
    }

    // MARK: - Deciding and doing

    private func thisHappened(_ event: Session.Event) {
        guard !self.isStopped else { return }
        self.actions += self.decisions.thisHappened(event, at: self.clock.moment)
        self.noteDeadline(self.decisions.continuation?.deadline ?? 0)
        if !self.isPerforming { self.proceed() }
    }

    private func proceed() {
        self.isPerforming = true
        while let action = self.actions.popFirst() {
            switch action {
            case .remember(let leases):
                let bound = NIOLoopBound(self, eventLoop: self.loop)
                return self.remember(leases) { [loop] in loop.execute { bound.value.proceed() } }
            // Until ``tookOver()``: before that the session has not begun, and nothing is committed.
            case .takeOver(let voters): return self.tell(.tookOver(voters))
            default: self.perform(action)
            }
        }
        self.isPerforming = false
    }

    /// Those of an earlier life are in force here, too.
    func tookOver() { self.proceed() }

    private func perform(_ action: Session.Action) {
        switch action {
        case .grant(let number, let request): self.call(request) { .granted(number, $0) }
        case .keep(let number, let request): self.call(request) { .kept(number, $0) }
        case .send(let number, let request): self.call(request) { .ended(number, $0) }
        // Done before this.
        case .remember, .takeOver: break
        case .session(let lease): self.tell(.session(lease))
        case .arm(let timer, let time): self.arm(timer, in: time)
        case .disarm(let timer): self.alarms[timer]?.stop()
        case .end(let why): self.tell(.over(why))
        }
    }

    private func call<Request: EtcdRequest>(
        _ request: Request,
        then event: @escaping @Sendable (Outcome<Request.Answer>) -> Session.Event
    ) {
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        let done: @Sendable (Outcome<Request.Answer>) -> Void = { outcome in
            bound.value.thisHappened(event(outcome))
        }
        guard let connection else {
            return self.loop.execute { done(.refused(.notSent("there is no connection"))) }
        }
        connection.call(request, within: self.limit, done: done)
    }

    /// Alarms count suspended time: whoever was asleep for longer than the session lasts knows that at once.
    private func arm(_ timer: Session.Timer, in time: Duration) {
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        let ring: @Sendable () -> Void = { [loop] in
            loop.execute { bound.value.thisHappened(.due(timer)) }
        }
        guard let alarm = self.alarms[timer] ?? self.clock.timer(ring) else {
            // There is no descriptor left for one.
            self.loop.assumeIsolated().scheduleTask(in: TimeAmount(time)) {
                self.thisHappened(.due(timer))
            }
            return
        }
        self.alarms[timer] = alarm
        alarm.set(after: time)
    }
}
#endif
