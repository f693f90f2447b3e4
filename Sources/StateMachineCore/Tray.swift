/// Values on their way from where they are made to a ``Desk`` on its target context.
///
/// Guarded state: `contents`, behind its lock; past `capacity` the oldest value is lost and counted.
final class Tray<Value: Sendable>: Sendable {
    private struct Contents: Sendable {
        var values: [(value: Value, seq: UInt64)] = []
        var lost = 0
        var lostFrom: UInt64 = 0
    }

    private let desk: Desk<Value>
    private let capacity: Int
    private let contents = Lock(Contents())

    init(_ desk: Desk<Value>, capacity: Int) {
        self.desk = desk
        self.capacity = capacity
    }

    func put(_ value: Value, seq: UInt64) {
        // What is pushed out is let go of after the lock.
        _ = self.contents.withLock { contents -> Value? in
            contents.values.append((value, seq))
            guard contents.values.count > self.capacity else { return nil }
            let oldest = contents.values.removeFirst()
            if contents.lost == 0 { contents.lostFrom = oldest.seq }
            contents.lost += 1
            return oldest.value
        }
    }

    func lost(_ count: Int, from seq: UInt64) {
        self.contents.withLock { contents in
            if contents.lost == 0 { contents.lostFrom = seq }
            contents.lost += count
        }
    }

    /// On the target context, in its turn.
    func empty() {
        let contents = self.contents.withLock { contents in
            let full = contents
            contents = Contents()
            return full
        }
        if contents.lost > 0 { self.desk.lost(contents.lost, from: contents.lostFrom) }
        for (value, seq) in contents.values { self.desk.receive(value, seq: seq) }
        if !contents.values.isEmpty { self.desk.burstEnded() }
        self.desk.nudged()
    }
}
