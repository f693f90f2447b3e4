/// The newest value of each key, in order of arrival, up to a capacity; beyond that the oldest
/// goes.
///
/// A value that is replaced leaves a gap, and the gaps are closed when they outnumber the values:
/// so putting a value costs the same however many keys there are.
struct NewestPerKey<Value> {
    enum Put {
        case added
        /// The key's former value was removed.
        case replaced
        /// The oldest value was removed to make room.
        case pushedOut
    }

    private struct Held {
        let key: AnyHashable
        let value: Value
    }

    private let capacity: Int
    private var indices: [AnyHashable: Int] = [:]
    private var slots: [Held?] = []
    /// Only gaps lie before it.
    private var first = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many there are.
    var count: Int { self.indices.count }

    mutating func put(_ value: Value, for key: AnyHashable) -> Put {
        var put = Put.added
        if let index = self.indices.removeValue(forKey: key) {
            self.slots[index] = nil
            put = .replaced
        } else if self.indices.count == self.capacity {
            self.removeOldest()
            put = .pushedOut
        }
        if self.slots.count > self.indices.count * 2 { self.closeGaps() }
        self.indices[key] = self.slots.count
        self.slots.append(Held(key: key, value: value))
        return put
    }

    /// Takes all out, oldest first.
    mutating func takeAll() -> [Value] {
        let all = self.slots.compactMap { $0?.value }
        self = NewestPerKey(capacity: self.capacity)
        return all
    }

    private mutating func removeOldest() {
        while self.first < self.slots.count {
            defer { self.first += 1 }
            guard let oldest = self.slots[self.first].take() else { continue }
            self.indices[oldest.key] = nil
            return
        }
    }

    private mutating func closeGaps() {
        let held = self.slots.compactMap(\.self)
        for (index, one) in held.enumerated() { self.indices[one.key] = index }
        self.slots = held
        self.first = 0
    }
}
