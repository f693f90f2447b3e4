/// A receptionist that is fed by hand: events of any kind, from any thread, redirected to one task on
/// one execution context.
///
/// It observes nothing. Put events in from any callback: a notification's block, a signal, a
/// delegate's method. So it may be a delegate itself:
///
/// ```swift
/// extension EventReceptionist: EnemyWatching where Event == Enemy {
///     func appeared(_ enemy: Enemy) { self.receive(enemy) }
/// }
/// ```
///
/// Events are numbered 1, 2, 3 … as they come in, and the task gets them in that order, one call at
/// a time, whatever the context. It stops when it is closed or released, and what it has collected
/// by then is discarded.
public final class EventReceptionist<Event: Sendable>: Sendable {
    let member: ReceivingMember<Event>
    private let drain: Drain
    /// How many events came so far, and what was lost before the next one, behind the lock under
    /// which they are put in.
    private let arrivals = Lock<(count: UInt64, losses: Drain.Losses)>((0, .init()))

    /// A receptionist on that context.
    ///
    /// - Parameters:
    ///   - context: where the task runs.
    ///   - delivery: which events the task gets, and when; at most its limit of them wait for the
    ///     context.
    ///   - clock: the clock that intervals are measured with.
    ///   - task: called with the events; it must not block the context.
    public init(
        on context: any ExecutionContext,
        delivering delivery: Delivery<Event> = .each,
        clock: any Clock<Duration> = ContinuousClock(),
        task: @escaping @Sendable (Delivery<Event>.Batch) -> Void
    ) {
        let calls = ReceivingMember<Event>.Calls(
            select: { _ in nil },
            task: { batch, _ in task(batch) }
        )
        self.member = ReceivingMember(delivery, by: clock, calls)
        self.drain = Drain(on: context, context.identity, callLimit: delivery.limit)
        self.member.begin(as: 1, of: self, in: self.drain, after: 0, from: nil)
        self.drain.add(self.member)
    }

    /// Takes an event in and returns; the task hears of it on its own context.
    ///
    /// On `.immediate`, if each is delivered, the task has been called with it when this returns,
    /// unless another thread is calling the task at that moment; that thread then delivers this one
    /// too. As with a machine, a thread delivers 256 events and then leaves the rest to the next thread
    /// that puts one in. Once closed, nothing is taken in.
    public func receive(_ event: Event) { self.receive(event, seq: nil) }

    /// As ``receive(_:)``; without a seq it gets the next number, 1, 2, 3 … in order of arrival.
    func receive(_ event: Event, seq: UInt64?) {
        guard !self.member.isCancelled else { return }
        let member = self.member
        let dropped = self.arrivals.withLock { arrivals in
            arrivals.count += 1
            let seq = seq ?? arrivals.count
            return self.drain.append(
                .init(seq: seq, losses: exchange(&arrivals.losses, with: .init())) { losses in
                    if let losses { member.receive(event, seq: seq, after: losses) }
                }
            )
        }
        dropped?.make(nil)
        self.drain.wakeForCall()
    }

    /// So many were lost before they came here, from that seq on.
    func lose(_ count: Int, from seq: UInt64) {
        self.arrivals.withLock { $0.losses.add(count, from: seq) }
    }

    /// Delivers what is collected to the task, soon and on its context, however long it would have
    /// waited.
    public func flush() { self.flush {} }

    /// As ``flush()``, and then calls `given`.
    func flush(then given: @escaping @Sendable () -> Void) { self.member.flush(then: given) }

    /// Calls `given` when what was put in so far has been received.
    func reach(_ given: @escaping @Sendable () -> Void) {
        self.drain.post(after: self.drain.newestCall) { _ in given() }
    }

    /// Ends it: no call of the task begins after this returns.
    public func close() { self.member.end() }

    deinit { self.close() }
}

extension EventReceptionist: MemberOwner {
    // What waits is skipped in its turn.
    func remove(_ member: Member) {}

    func drain(of member: Member) -> (drain: Drain, newest: UInt64)? {
        (self.drain, self.drain.newestCall)
    }
}

/// A receptionist's place at the source: the filter runs on the committing thread, after the lock,
/// and what passes it goes to a receptionist on the target context.
///
/// `@unchecked Sendable`: its variables are released once, when no call runs and none will begin.
final class ScreeningMember<Element: Sendable>: Member, @unchecked Sendable {
    private var receptionist: EventReceptionist<Element>?
    private var select: (@Sendable (Change) -> Element?)?

    init(
        for receptionist: EventReceptionist<Element>,
        starting start: Start,
        select: @escaping @Sendable (Change) -> Element?
    ) {
        self.receptionist = receptionist
        self.select = select
        super.init(Terms(start: start))
    }

    override func receive(_ entry: ChangeEntry) -> Bool { self.receive(entry.change) }

    private func receive(_ change: Change) -> Bool {
        guard let element = self.select?(change) else { return false }
        self.receptionist?.receive(element, seq: change.seq)
        return true
    }

    override func receiveMissed(_ count: Int, newest: Change) {
        self.receptionist?.lose(count - 1, from: newest.seq - UInt64(count - 1))
        _ = self.receive(newest)
    }

    // Passed on the target context.
    override func reach(_ count: DeliveryCount) {
        guard let receptionist else { return }
        count.expectOneMore()
        receptionist.reach { count.pass(hearing: false) }
    }

    override func deliverKept(then given: @escaping @Sendable () -> Void) {
        if let receptionist { receptionist.flush(then: given) } else { given() }
    }

    override func letGo() {
        self.select = nil
        self.receptionist = nil
    }

    /// The machine has gone: what it let through before is still delivered.
    deinit {
        guard let receptionist else { return }
        receptionist.reach { withExtendedLifetime(receptionist) {} }
    }
}
