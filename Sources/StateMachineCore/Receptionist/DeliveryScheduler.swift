import Synchronization

/// Where a receptionist's values arrive: collects them and calls the task.
///
/// Guarded state: `coalescer`, `task`, `alarm` and `alarmNumber` belong to whoever has the turn on
/// the target context; a lane or a ``SerialTurn`` gives one turn at a time. `rung`, atomic, is the
/// number of the last alarm that rang. `turn` is behind its own lock.
///
/// `@unchecked Sendable`: turns are handed on by the lane's flag or the serial turn's, which orders
/// them.
final class DeliveryScheduler<Value: Sendable>: @unchecked Sendable {
    private let clock: any Clock<Duration>
    private var task: (@Sendable (Delivery<Value>.Batch) -> Void)?
    /// Whether no call of the task may begin any more.
    ///
    /// Asked before each: a turn may make several, and the task may end them. Set once, before the
    /// first turn.
    var isOver: @Sendable () -> Bool = { false }
    private let rung = Atomic<UInt64>(0)

    private var coalescer: Coalescer<Value>?
    private var alarm: Alarm?
    private var alarmNumber: UInt64 = 0

    /// How to request a turn on the target context, once that is known, and whether one was needed
    /// before.
    private struct Turn: Sendable {
        var ask: (@Sendable () -> Void)?
        var isOwed = false
    }

    private let turn = Lock(Turn())

    init(
        _ delivery: Delivery<Value>,
        clock: any Clock<Duration>,
        isWanted: @escaping @Sendable () -> Bool = { true },
        task: @escaping @Sendable (Delivery<Value>.Batch) -> Void
    ) {
        self.coalescer = Coalescer(delivery, isWanted: isWanted)
        self.clock = clock
        self.task = task
    }

    /// Set once: the scheduler exists before the member that it feeds.
    func onNeed(_ ask: @escaping @Sendable () -> Void) {
        let isOwed = self.turn.withLock { turn in
            turn.ask = ask
            return turn.isOwed
        }
        if isOwed { ask() }
    }

    /// Requests a turn on the target context.
    func askForTurn() {
        let ask = self.turn.withLock { turn in
            if turn.ask == nil { turn.isOwed = true }
            return turn.ask
        }
        ask?()
    }

    func receive(_ value: Value, seq: UInt64) {
        self.perform(self.coalescer?.received(value, seq: seq))
    }

    func lost(_ count: Int, from seq: UInt64) { self.coalescer?.lost(count, from: seq) }

    func burstEnded() { self.perform(self.coalescer?.burstEnded()) }

    /// Handles an alarm that rang, or that the task wants what was due.
    func nudged() {
        if self.alarm != nil,
            self.rung.load(ordering: .sequentiallyConsistent) == self.alarmNumber
        {
            self.alarm = nil
            self.perform(self.coalescer?.rang())
        }
        self.perform(self.coalescer?.asked())
    }

    /// Delivers what is held, now.
    func deliver() { self.perform(self.coalescer?.deliver()) }

    /// Releases the task and what is held; called when no turn runs and none will begin.
    func letGo() {
        self.alarm?.stop()
        self.alarm = nil
        self.coalescer = nil
        self.task = nil
    }

    private func perform(_ action: Coalescer<Value>.Action?) {
        switch action {
        case .wait, nil: break
        case .deliver(let batch, let interval):
            if let interval { self.ring(after: interval) }
            if !self.isOver() { self.task?(batch) }
        case .ring(let duration): self.ring(after: duration)
        }
    }

    private func ring(after duration: Duration) {
        self.alarm?.stop()
        self.alarmNumber += 1
        let number = self.alarmNumber
        self.alarm = Alarm(after: duration, on: self.clock) { [weak self] in
            self?.rung.store(number, ordering: .sequentiallyConsistent)
            self?.askForTurn()
        }
    }
}
