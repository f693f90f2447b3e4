/// Values on their way from where they are made to a ``DeliveryScheduler`` on its target context.
///
/// Guarded state: `contents`, behind its lock; beyond its capacity the oldest value is lost and
/// counted.
final class Inbox<Value: Sendable>: Sendable {
    private struct Contents: Sendable {
        var values: BoundedBuffer<(value: Value, seq: UInt64)>
        var lost = 0
        var lostFrom: UInt64 = 0
        /// How many were numbered here.
        var numbered: UInt64 = 0
        /// Whether the next turn is to deliver what the scheduler holds, too.
        var isFlushed = false
        /// Called at the end of the next turn.
        var waiting: [@Sendable () -> Void] = []
        var isClosed = false

        /// Returns what is pushed out, to be released after the lock.
        mutating func put(_ value: Value, seq: UInt64) -> Value? {
            guard let oldest = self.values.append((value, seq)) else { return nil }
            if self.lost == 0 { self.lostFrom = oldest.seq }
            self.lost += 1
            return oldest.value
        }

        mutating func take() -> Contents {
            defer {
                self = Contents(
                    values: BoundedBuffer(capacity: self.values.capacity),
                    numbered: self.numbered
                )
            }
            return self
        }
    }

    private let scheduler: DeliveryScheduler<Value>
    private let contents: Lock<Contents>

    init(_ scheduler: DeliveryScheduler<Value>, capacity: Int) {
        self.scheduler = scheduler
        self.contents = Lock(Contents(values: BoundedBuffer(capacity: capacity)))
    }

    func put(_ value: Value, seq: UInt64) {
        _ = self.contents.withLock { $0.put(value, seq: seq) }
    }

    /// Puts a value that has no seq: it gets the next number, 1, 2, 3 … in order of arrival.
    func put(_ value: Value) {
        _ = self.contents.withLock { contents in
            contents.numbered += 1
            return contents.put(value, seq: contents.numbered)
        }
    }

    func lost(_ count: Int, from seq: UInt64) {
        self.contents.withLock { contents in
            if contents.lost == 0 { contents.lostFrom = seq }
            contents.lost += count
        }
    }

    /// The turns on `context` in which it is emptied; closing them releases all that is kept.
    func turns(on context: any ExecutionContext) -> SerialTurn {
        let turns = SerialTurn(
            on: context,
            refused: { self.giveUp() },
            letGo: { self.close() },
            turn: { self.empty() }
        )
        self.scheduler.isOver = { [weak turns] in turns?.isClosed ?? true }
        self.scheduler.onNeed { [weak turns] in turns?.ask() }
        return turns
    }

    /// Gives the scheduler, soon, what is here, and then calls `given`; at once if nobody will.
    ///
    /// - Parameters:
    ///   - isFlushing: whether the task is given what the scheduler holds, too.
    ///   - given: called on the target context, or where it turns out that there is none.
    func empty(flushing isFlushing: Bool, then given: @escaping @Sendable () -> Void) {
        let isOpen = self.contents.withLock { contents in
            guard !contents.isClosed else { return false }
            contents.isFlushed = contents.isFlushed || isFlushing
            contents.waiting.append(given)
            return true
        }
        guard isOpen else { return given() }
        self.scheduler.askForTurn()
    }

    /// The target context has ended: who waits is told.
    private func giveUp() {
        let waiting = self.contents.withLock { exchange(&$0.waiting, with: []) }
        for given in waiting { given() }
    }

    /// No turn runs, and none will begin.
    private func close() {
        self.contents.withLock { $0.isClosed = true }
        self.scheduler.letGo()
        self.giveUp()
    }

    /// On the target context, in its turn.
    func empty() {
        var contents = self.contents.withLock { $0.take() }
        if contents.lost > 0 { self.scheduler.lost(contents.lost, from: contents.lostFrom) }
        let hasValues = !contents.values.isEmpty
        while let (value, seq) = contents.values.popFirst() {
            self.scheduler.receive(value, seq: seq)
        }
        if hasValues { self.scheduler.burstEnded() }
        self.scheduler.nudged()
        if contents.isFlushed { self.scheduler.deliver() }
        for given in contents.waiting { given() }
    }
}
