/// The place of a receptionist, or of a delegate that does not get everything, in its context's
/// lane.
///
/// `@unchecked Sendable`: `select` is released once, when no call runs and none will begin; the
/// rest never changes.
class ReceivingMember<Element: Sendable>: Member, @unchecked Sendable {
    final let scheduler: DeliveryScheduler<Element>
    private final var select: (@Sendable (Change) -> Element?)?

    init(
        _ scheduler: DeliveryScheduler<Element>,
        select: @escaping @Sendable (Change) -> Element?,
        of names: Set<String>? = nil,
        starting start: Start,
        representing object: ObjectIdentifier? = nil
    ) {
        self.scheduler = scheduler
        self.select = select
        super.init(of: names, starting: start, representing: object, hearingBurstEnds: true)
        scheduler.isOver = { [weak self] in self?.isCancelled ?? true }
    }

    override func receive(_ entry: ChangeEntry) -> Bool { self.receive(entry.change) }

    private func receive(_ change: Change) -> Bool {
        guard let element = self.select?(change) else { return false }
        self.scheduler.receive(element, seq: change.seq)
        return true
    }

    override func receiveMissed(_ count: Int, newest: Change) {
        self.scheduler.lost(count - 1, from: newest.seq - UInt64(count - 1))
        _ = self.receive(newest)
    }

    override func burstEnded() { self.scheduler.burstEnded() }

    override func nudged() { self.scheduler.nudged() }

    override func placed(in lane: Lane) {
        self.scheduler.onNeed { [weak lane, weak self] in
            if let lane, let self { lane.nudge(self) }
        }
    }

    override func deliverKept(then given: @escaping @Sendable () -> Void) {
        self.scheduler.deliver()
        given()
    }

    override func letGo() {
        self.select = nil
        self.scheduler.letGo()
    }
}

/// A receptionist's place at the source: the filter runs on the committing thread, after the lock,
/// and what passes it waits in an inbox for the target context.
///
/// `@unchecked Sendable`: `select` and `turn` are released once, when no call runs and none will
/// begin.
final class ScreeningMember<Element: Sendable>: Member, @unchecked Sendable {
    private let inbox: Inbox<Element>
    private var select: (@Sendable (Change) -> Element?)?
    /// The turn on the target context that empties the inbox; kept alive here.
    private var turn: SerialTurn?

    init(
        _ inbox: Inbox<Element>,
        select: @escaping @Sendable (Change) -> Element?,
        starting start: Start,
        emptiedIn turn: SerialTurn
    ) {
        self.inbox = inbox
        self.select = select
        self.turn = turn
        super.init(starting: start)
    }

    override func receive(_ entry: ChangeEntry) -> Bool { self.receive(entry.change) }

    private func receive(_ change: Change) -> Bool {
        guard let element = self.select?(change) else { return false }
        self.inbox.put(element, seq: change.seq)
        self.turn?.ask()
        return true
    }

    override func receiveMissed(_ count: Int, newest: Change) {
        self.inbox.lost(count - 1, from: newest.seq - UInt64(count - 1))
        _ = self.receive(newest)
    }

    // Passed on the target context.
    override func reach(_ mark: DeliveryCount) {
        mark.expectOneMore()
        self.inbox.empty(flushing: false) { mark.pass(hearing: false) }
    }

    override func deliverKept(then given: @escaping @Sendable () -> Void) {
        self.inbox.empty(flushing: true, then: given)
    }

    override func letGo() {
        self.select = nil
        self.turn = nil
    }
}

/// A context like `.immediate`, but a place of its own: nothing there waits for another's delegates.
final class InlineContext: ExecutionContext, InlineRunning {
    func enqueue(_ job: @escaping @Sendable () -> Void) { job() }
}
