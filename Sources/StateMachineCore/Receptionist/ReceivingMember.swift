/// A receptionist's place in the lane of its target context.
///
/// `@unchecked Sendable`: its fields never change.
final class ReceivingMember<State: MachineState, Value: Sendable>: Member<State>,
    @unchecked Sendable
{
    private let scheduler: DeliveryScheduler<Value>
    private let select: @Sendable (Transition<State>) -> Value?

    init(
        _ scheduler: DeliveryScheduler<Value>,
        select: @escaping @Sendable (Transition<State>) -> Value?,
        starting start: Start
    ) {
        self.scheduler = scheduler
        self.select = select
        super.init(starting: start, hearingBurstEnds: true)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        guard let value = self.select(transition) else { return false }
        self.scheduler.receive(value, seq: transition.seq)
        return true
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.scheduler.lost(count - 1, from: newest.seq - UInt64(count - 1))
        _ = self.receive(newest)
    }

    override func burstEnded() { self.scheduler.burstEnded() }

    override func nudged() { self.scheduler.nudged() }
}

/// A receptionist's place at the source: the filter runs on the committing thread, after the lock,
/// and what it lets through waits in an inbox for the target context.
///
/// `@unchecked Sendable`: its fields never change.
final class ScreeningMember<State: MachineState, Value: Sendable>: Member<State>,
    @unchecked Sendable
{
    private let inbox: Inbox<Value>
    private let select: @Sendable (Transition<State>) -> Value?
    private let askForTurn: @Sendable () -> Void

    init(
        _ inbox: Inbox<Value>,
        select: @escaping @Sendable (Transition<State>) -> Value?,
        starting start: Start,
        askForTurn: @escaping @Sendable () -> Void
    ) {
        self.inbox = inbox
        self.select = select
        self.askForTurn = askForTurn
        super.init(starting: start)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        guard let value = self.select(transition) else { return false }
        self.inbox.put(value, seq: transition.seq)
        self.askForTurn()
        return true
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.inbox.lost(count - 1, from: newest.seq - UInt64(count - 1))
        _ = self.receive(newest)
    }
}

/// A context like `.immediate`, but a place of its own: nothing there waits for another's delegates.
final class InlineContext: ExecutionContext, InlineRunning {
    func enqueue(_ job: @escaping @Sendable () -> Void) { job() }
}
