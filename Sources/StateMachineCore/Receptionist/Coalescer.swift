/// Decides what becomes of the values that a receptionist receives: a state machine that takes
/// events and answers with actions.
struct Coalescer<Value: Sendable> {
    enum Action {
        case wait
        /// Give the task what is held; then, if there is a duration, ring after it.
        case deliver(Delivery<Value>.Batch, thenRingAfter: Duration?)
        /// Ring after that, and not at what was set before.
        case ring(after: Duration)
    }

    private let delivery: Delivery<Value>
    private var held: BoundedBuffer<Value>
    /// Used instead if the newest of each key is kept.
    private var newest: NewestPerKey<Value>
    private var seqs: ClosedRange<UInt64>?
    private var coalesced = 0
    private var dropped = 0
    /// Whether something paced has to wait for the alarm.
    private var isAlarmSet = false
    /// Whether what is held was to be delivered when the task did not want it.
    private var isDue = false
    private let isWanted: @Sendable () -> Bool

    /// - Parameters:
    ///   - delivery: what to deliver, and when.
    ///   - isWanted: asked before each delivery; while it is false everything is kept.
    init(_ delivery: Delivery<Value>, isWanted: @escaping @Sendable () -> Bool = { true }) {
        self.isWanted = isWanted
        self.delivery = delivery
        self.held = BoundedBuffer(capacity: delivery.limit)
        self.newest = NewestPerKey(capacity: delivery.limit)
    }

    mutating func received(_ value: Value, seq: UInt64) -> Action {
        self.seqs = (self.seqs?.lowerBound ?? seq)...seq
        let isFirst = self.count == 0
        self.keep(value)
        switch self.delivery.timing {
        case .atOnce: return self.deliver()
        case .afterBurst: return .wait
        case .settled:
            self.isDue = false
            return .wait
        case .batch(let interval, let count):
            if self.count >= max(count, 1) { return self.deliver() }
            // An alarm that was set for the batch before has nothing to deliver, or no longer rings.
            return isFirst ? .ring(after: interval) : .wait
        case .paced: return self.isAlarmSet ? .wait : self.deliverPaced()
        }
    }

    /// `count` values were lost before they came here; the newest of them is received next.
    mutating func lost(_ count: Int, from seq: UInt64) {
        guard count > 0 else { return }
        self.dropped += count
        self.seqs = self.seqs ?? seq...seq
    }

    mutating func burstEnded() -> Action {
        switch self.delivery.timing {
        case .atOnce, .batch, .paced: return .wait
        case .afterBurst: return self.deliver()
        case .settled(let quiet): return self.count == 0 ? .wait : .ring(after: quiet)
        }
    }

    mutating func rang() -> Action {
        self.isAlarmSet = false
        return self.deliverPaced()
    }

    /// The task may want what was due.
    mutating func asked() -> Action { self.isDue ? self.deliverPaced() : .wait }

    /// Delivers what is held; if it is paced, the next is due after the interval.
    private mutating func deliverPaced() -> Action {
        guard case .paced(let interval) = self.delivery.timing, self.count > 0 else {
            return self.deliver()
        }
        self.isAlarmSet = true
        return self.deliver(thenRingAfter: interval)
    }

    /// Delivers what is held, now.
    mutating func deliver(thenRingAfter duration: Duration? = nil) -> Action {
        guard let seqs = self.seqs, self.count > 0 else { return .wait }
        guard self.isWanted() else {
            self.isDue = true
            // Nothing is left to be done at the interval.
            if duration != nil { self.isAlarmSet = false }
            return .wait
        }
        let values = self.held.takeAll() + self.newest.takeAll()
        defer {
            self.isDue = false
            self.seqs = nil
            self.coalesced = 0
            self.dropped = 0
        }
        return .deliver(
            Delivery.Batch(
                values: values,
                seqs: seqs,
                coalesced: self.coalesced,
                dropped: self.dropped
            ),
            thenRingAfter: duration
        )
    }

    private var count: Int { self.held.count + self.newest.count }

    private mutating func keep(_ value: Value) {
        switch self.delivery.keeping {
        case .all: self.hold(value)
        case .newest:
            if self.held.popFirst() != nil { self.coalesced += 1 }
            self.hold(value)
        case .newestPer(let key):
            switch self.newest.put(value, for: key(value)) {
            case .added: break
            case .replaced: self.coalesced += 1
            case .pushedOut: self.dropped += 1
            }
        }
    }

    private mutating func hold(_ value: Value) {
        if self.held.append(value) != nil { self.dropped += 1 }
    }
}
