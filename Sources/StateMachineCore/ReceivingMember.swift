/// A receptionist's place in the lane of its target context.
///
/// `@unchecked Sendable`: `beginning` is written under the machine's lock before the lane can see the
/// member, and is the drain's own after that.
final class ReceivingMember<State: MachineState, Value: Sendable>: Member<State>,
    @unchecked Sendable
{
    private let desk: Desk<Value>
    private let select: @Sendable (Transition<State>) -> Value?
    private let start: Start
    private var beginning: Snapshot<State>?

    init(
        _ desk: Desk<Value>,
        select: @escaping @Sendable (Transition<State>) -> Value?,
        starting start: Start
    ) {
        self.desk = desk
        self.select = select
        self.start = start
        super.init(hearingBurstEnds: true)
    }

    override func began(at snapshot: Snapshot<State>) {
        switch self.start {
        case .next: break
        case .current: self.beginning = snapshot
        }
    }

    /// The current state as if it had just been entered again, which is told first.
    private func begin() {
        guard let snapshot = self.beginning.take() else { return }
        let transition = Transition(enteringAgain: snapshot)
        if let value = self.select(transition) { self.desk.receive(value, seq: snapshot.seq) }
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.begin()
        guard let value = self.select(transition) else { return false }
        self.desk.receive(value, seq: transition.seq)
        return true
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.begin()
        self.desk.lost(count - 1, from: newest.seq - UInt64(count - 1))
        _ = self.receive(newest)
    }

    override func burstEnded() { self.desk.burstEnded() }

    override func nudged() {
        if self.beginning != nil {
            self.begin()
            self.desk.burstEnded()
        }
        self.desk.nudged()
    }
}

/// A receptionist's place at the source: the filter runs on the committing thread, after the lock,
/// and what it lets through waits in a tray for the target context.
///
/// `@unchecked Sendable`: `beginning`, as in ``ReceivingMember``.
final class ScreeningMember<State: MachineState, Value: Sendable>: Member<State>,
    @unchecked Sendable
{
    private let tray: Tray<Value>
    private let select: @Sendable (Transition<State>) -> Value?
    private let start: Start
    private let askForTurn: @Sendable () -> Void
    private var beginning: Snapshot<State>?

    init(
        _ tray: Tray<Value>,
        select: @escaping @Sendable (Transition<State>) -> Value?,
        starting start: Start,
        askForTurn: @escaping @Sendable () -> Void
    ) {
        self.tray = tray
        self.select = select
        self.start = start
        self.askForTurn = askForTurn
    }

    override func began(at snapshot: Snapshot<State>) {
        switch self.start {
        case .next: break
        case .current: self.beginning = snapshot
        }
    }

    private func begin() {
        guard let snapshot = self.beginning.take() else { return }
        _ = self.put(Transition(enteringAgain: snapshot))
    }

    private func put(_ transition: Transition<State>) -> Bool {
        guard let value = self.select(transition) else { return false }
        self.tray.put(value, seq: transition.seq)
        self.askForTurn()
        return true
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.begin()
        return self.put(transition)
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        self.begin()
        self.tray.lost(count - 1, from: newest.seq - UInt64(count - 1))
        _ = self.put(newest)
    }

    override func nudged() { self.begin() }
}

extension Transition {
    /// The state as if it had been entered from itself.
    fileprivate init(enteringAgain snapshot: Snapshot<State>) {
        self.init(
            seq: snapshot.seq,
            old: snapshot.state,
            new: snapshot.state,
            at: snapshot.at
        )
    }
}

/// The target's end of a receptionist that screens at the source; claimed for every turn, so that
/// none begins after the receptionist is closed.
final class TurnMember<State: MachineState>: Member<State>, @unchecked Sendable {
    private let turn: @Sendable () -> Void

    init(turn: @escaping @Sendable () -> Void) {
        self.turn = turn
    }

    override func nudged() { self.turn() }
}

/// A context like `.immediate`, but a place of its own: nothing there waits for another's delegates.
final class InlineContext: ExecutionContext, InlineRunning {
    func enqueue(_ job: @escaping @Sendable () -> Void) { job() }
}
