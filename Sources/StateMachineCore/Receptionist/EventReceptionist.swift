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
    private let scheduler: DeliveryScheduler<Event>
    private let inbox: Inbox<Event>
    private let serialTurn: SerialTurn

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
        let scheduler = DeliveryScheduler(delivery, clock: clock, task: task)
        let inbox = Inbox(scheduler, capacity: delivery.limit)
        (self.scheduler, self.inbox) = (scheduler, inbox)
        self.serialTurn = inbox.turns(on: context)
    }

    /// Takes an event in and returns; the task hears of it on its own context.
    ///
    /// On `.immediate`, if each is delivered, the task has been called with it when this returns,
    /// unless another thread is calling the task at that moment; that thread then delivers this one
    /// too. Once closed, nothing is taken in.
    public func receive(_ event: Event) {
        guard !self.serialTurn.isClosed else { return }
        self.inbox.put(event)
        self.serialTurn.ask()
    }

    /// Delivers what is collected to the task, soon and on its context, however long it would have
    /// waited.
    public func flush() { self.inbox.empty(flushing: true) {} }

    /// Ends it: no call of the task begins after this returns.
    public func close() { self.serialTurn.close() }

    deinit { self.close() }
}
