/// Receives a machine's transitions wherever they are made and redirects them to one task on one
/// execution context: Apple's Cocoa pattern, not a service registry.
///
/// It knows four things, all fixed when it is made: whom it observes, what to do, where, and how much
/// of it. It stops when it is closed or released, and what it has collected by then goes nowhere.
public final class Receptionist<State: MachineState>: Sendable {
    /// The state in which the receptionist took up its post; the task hears all that follows.
    public let start: Snapshot<State>

    private let lane: Lane<State>
    private let flushing: @Sendable () -> Void
    private let closing: @Sendable () -> Void

    /// Takes up its post: no transition after ``start`` is missed.
    ///
    /// - Parameters:
    ///   - machine: whom it observes.
    ///   - context: where the task runs.
    ///   - afterBurst: run on the context when the task has been given all there was.
    ///   - task: given every transition; it may not block the context.
    public init(
        of machine: StateMachine<State>,
        on context: any ExecutionContext,
        afterBurst: @escaping @Sendable () -> Void = {},
        task: @escaping @Sendable (Transition<State>) -> Void
    ) {
        let member = EachMember<State>(task: task, afterBurst: afterBurst)
        (self.lane, self.start) = machine.register(member, on: context)
        let registration = machine.registration(of: member)
        self.closing = { registration.cancel() }
        self.flushing = {}
    }

    /// Takes up its post: of no transition after ``start`` it is said that nothing was known.
    ///
    /// - Parameters:
    ///   - machine: whom it observes.
    ///   - select: pure; what of a transition the task is given, nil to leave it out.
    ///   - context: where the task runs.
    ///   - screening: where `select` runs.
    ///   - delivery: which values the task is given, and when.
    ///   - capacity: values that may be collected; past it the oldest is dropped. 4096: what a
    ///     machine's connections have in flight together. Not tuned.
    ///   - beginning: whether `select` is asked for the current state first, as a transition from
    ///     itself to itself which has its seq.
    ///   - clock: what intervals are measured with.
    ///   - task: given the values; it may not block the context.
    public init<Value: Sendable>(
        of machine: StateMachine<State>,
        selecting select: @escaping @Sendable (Transition<State>) -> Value?,
        on context: any ExecutionContext,
        screening: Screening = .target,
        delivering delivery: Delivery<Value> = .each,
        keeping capacity: Int = 4096,
        starting beginning: Start = .next,
        clock: any Clock<Duration> = ContinuousClock(),
        task: @escaping @Sendable (Batch<Value>) -> Void
    ) {
        let scheduler = DeliveryScheduler(delivery, capacity: capacity, clock: clock, task: task)
        switch screening {
        case .target:
            let member = ReceivingMember(scheduler, select: select, starting: beginning)
            let (lane, start) = machine.register(member, on: context)
            scheduler.onNeed { [weak lane] in lane?.nudge() }
            (self.lane, self.start) = (lane, start)
            let registration = machine.registration(of: member)
            self.closing = { registration.cancel() }
        case .source:
            let inbox = Inbox(scheduler, capacity: capacity)
            let serialTurn = SerialTurn(on: context) { inbox.empty() }
            scheduler.onNeed { [weak serialTurn] in serialTurn?.ask() }
            let member = ScreeningMember(
                inbox,
                select: select,
                starting: beginning
            ) { serialTurn.ask() }
            (self.lane, self.start) = machine.register(member, on: InlineContext())
            let registration = machine.registration(of: member)
            self.closing = {
                registration.cancel()
                serialTurn.close()
            }
        }
        self.flushing = { scheduler.flush() }
    }

    /// Takes up its post: the task is given what is at `path`, when it has changed.
    ///
    /// - Parameters:
    ///   - machine: whom it observes.
    ///   - path: what of the state it observes.
    ///   - context: where the task runs.
    ///   - delivery: which values the task is given, and when.
    ///   - clock: what intervals are measured with.
    ///   - task: given the values; it may not block the context.
    public convenience init<Value: Sendable & Equatable>(
        of machine: StateMachine<State>,
        value path: any KeyPath<State, Value> & Sendable,
        on context: any ExecutionContext,
        delivering delivery: Delivery<Value> = .each,
        clock: any Clock<Duration> = ContinuousClock(),
        task: @escaping @Sendable (Batch<Value>) -> Void
    ) {
        self.init(
            of: machine,
            selecting: { transition in
                let new = transition.new[keyPath: path]
                return transition.old[keyPath: path] == new ? nil : new
            },
            on: context,
            delivering: delivery,
            clock: clock,
            task: task
        )
    }

    /// Gives the task, soon and on its context, what is collected, however long it would have waited.
    public func flush() { self.flushing() }

    /// Ends it: no call of the task begins after this returns.
    public func close() { self.closing() }

    /// Gives the task, now, everything that has been committed so far.
    ///
    /// Only on the receptionist's own context, which has to be serial and able to tell that it is
    /// current. What the task itself sets is told after the task has returned.
    package func catchUp() { self.lane.catchUp() }

    deinit { self.close() }
}

/// Where a receptionist's filter runs.
public enum Screening: Sendable {
    /// On the target context.
    case target
    /// On the committing thread, after the lock: what is filtered out costs the target nothing.
    case source
}

/// What a receptionist or a sequence begins with.
public enum Start: Sendable {
    /// The next transition.
    case next
    /// The current state, and then the next transition; nothing lies between them.
    case current
}

/// Hands over every transition as it comes.
private final class EachMember<State: MachineState>: Member<State>, @unchecked Sendable {
    private let task: @Sendable (Transition<State>) -> Void
    private let afterBurst: @Sendable () -> Void

    init(
        task: @escaping @Sendable (Transition<State>) -> Void,
        afterBurst: @escaping @Sendable () -> Void
    ) {
        self.task = task
        self.afterBurst = afterBurst
        super.init(hearingBurstEnds: true)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.task(transition)
        return true
    }

    override func burstEnded() { self.afterBurst() }
}
