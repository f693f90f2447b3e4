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
            letGo: { self.scheduler.letGo() },
            turn: { self.empty() }
        )
        self.scheduler.isOver = { [weak turns] in turns?.isClosed ?? true }
        self.scheduler.onNeed { [weak turns] in turns?.ask() }
        return turns
    }

    /// Delivers, soon, what is here and what the scheduler holds; then calls `given`.
    func flush(then given: @escaping @Sendable () -> Void) { self.scheduler.flush(then: given) }

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
    }
}
