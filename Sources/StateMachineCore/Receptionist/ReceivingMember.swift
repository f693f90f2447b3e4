/// The place of a receptionist, or of a delegate that is not given everything, in the lane of its context.
///
/// `@unchecked Sendable`: its fields never change.
class ReceivingMember<State: MachineState, Value: Sendable>: Member<State>,
    @unchecked Sendable
{
    private let scheduler: DeliveryScheduler<Value>
    private let select: @Sendable (Transition<State>) -> Value?

    /// Who receives; nil if that is nobody whose life ends by itself.
    private weak let receiver: (any AnyObject & Sendable)?

    init(
        _ scheduler: DeliveryScheduler<Value>,
        select: @escaping @Sendable (Transition<State>) -> Value?,
        of names: Set<State.Name>? = nil,
        starting start: StateMachine<State>.Start,
        for receiver: (any AnyObject & Sendable)? = nil
    ) {
        self.scheduler = scheduler
        self.select = select
        self.receiver = receiver
        super.init(
            of: names,
            starting: start,
            representing: receiver.map { ObjectIdentifier($0) },
            hearingBurstEnds: true
        )
    }

    override func represents(_ object: AnyObject) -> Bool {
        self.object == ObjectIdentifier(object) && self.receiver === object
    }

    override var isGone: Bool { self.object != nil && self.receiver == nil }

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

    override func placed(in lane: Lane<State>) {
        self.scheduler.onNeed { [weak lane] in lane?.nudge() }
    }

    override func flush() { self.scheduler.flush() }
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
        starting start: StateMachine<State>.Start,
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
