/// Elements in order of arrival, up to a capacity; beyond that the oldest goes.
///
/// Adding and taking cost the same however many there are: nothing moves up when the oldest leaves.
/// Room is made as it is needed, and given back by ``takeAll()``.
///
/// If a lock guards it, release what it returns after the lock: releasing an element may run a
/// client's code.
package struct BoundedBuffer<Element> {
    /// How many elements there may be.
    package let capacity: Int
    package private(set) var count = 0
    /// A ring; its length is a power of two once it is not 0.
    private var slots: [Element?] = []
    private var head = 0

    /// A buffer for at least one element.
    package init(capacity: Int) {
        precondition(capacity > 0, "a buffer's capacity must be at least 1")
        self.capacity = capacity
    }

    package var isEmpty: Bool { self.count == 0 }

    /// The oldest.
    var first: Element? { self.isEmpty ? nil : self.slots[self.head] }

    /// Adds `element` and returns the one it pushed out.
    package mutating func append(_ element: Element) -> Element? {
        let oldest = self.count == self.capacity ? self.popFirst() : nil
        if self.count == self.slots.count { self.grow() }
        self.slots[self.index(self.count)] = element
        self.count += 1
        return oldest
    }

    /// Takes the oldest out.
    package mutating func popFirst() -> Element? {
        guard self.count > 0 else { return nil }
        let oldest = self.slots[self.head].take()
        self.head = self.index(1)
        self.count -= 1
        return oldest
    }

    /// Takes all out, the oldest first.
    package mutating func takeAll() -> [Element] {
        let all = (0..<self.count).compactMap { self.slots[self.index($0)] }
        self = BoundedBuffer(capacity: self.capacity)
        return all
    }

    private func index(_ offset: Int) -> Int { (self.head + offset) & (self.slots.count - 1) }

    /// Moves each element once, to a ring of twice the length; so a ring that has grown to n has moved fewer
    /// than n.
    private mutating func grow() {
        let length = max(self.count * 2, 1)
        var slots: [Element?] = []
        slots.reserveCapacity(length)
        for offset in 0..<self.count { slots.append(self.slots[self.index(offset)]) }
        slots.append(contentsOf: repeatElement(nil, count: length - self.count))
        self.slots = slots
        self.head = 0
    }
}

extension BoundedBuffer: Sendable where Element: Sendable {}
