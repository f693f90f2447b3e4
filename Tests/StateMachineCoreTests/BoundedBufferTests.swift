import Dispatch
import TestSupport
import Testing

@testable import StateMachineCore

/// The newest elements are kept, however many there are.
///
/// What a removal costs is not asserted; if it moved every element, the large tests would take
/// seconds instead of a moment.
@Suite(.bounded) struct BoundedBufferTests {
    /// So large that moving all elements once for each value would be noticed.
    private static let capacity = 50_000
    private static let count = 250_000

    /// Compares it with an array that does the same in the plain way.
    @Test(arguments: 1...16)
    func itHoldsTheNewestInOrderOfArrival(_ capacity: Int) {
        var generator = SeededGenerator(seed: UInt64(capacity))
        var buffer = BoundedBuffer<Int>(capacity: capacity)
        var expected: [Int] = []
        for value in 0..<2000 {
            switch UInt64.random(in: 0..<16, using: &generator) {
            case 0..<10:
                expected.append(value)
                let oldest = expected.count > capacity ? expected.removeFirst() : nil
                #expect(buffer.append(value) == oldest)
            case 10..<15:
                #expect(buffer.popFirst() == (expected.isEmpty ? nil : expected.removeFirst()))
            default:
                #expect(buffer.takeAll() == expected)
                expected = []
            }
            #expect(buffer.count == expected.count && buffer.isEmpty == expected.isEmpty)
        }
    }

    @Test func whatLeavesItIsLetGoOf() {
        final class Thing {}
        var buffer = BoundedBuffer<Thing>(capacity: 2)
        weak var first: Thing?
        weak var second: Thing?
        do {
            let things = [Thing(), Thing(), Thing()]
            (first, second) = (things[0], things[1])
            for thing in things { _ = buffer.append(thing) }
        }
        #expect(first == nil && second != nil)
        _ = buffer.popFirst()
        #expect(second == nil)
    }

    /// The setter inserts each value under a lock, so it must pay for one, however many are there.
    @Test func aFullTrayTakesAValueForTheCostOfOne() async {
        let gate = TestSupport.Gate()
        let queue = DispatchQueue(label: "stuck")
        queue.async { gate.pass() }
        let batches = Recorder<Delivery<Int>.Batch>()
        let receptionist = EventReceptionist<Int>(
            on: .queue(queue),
            delivering: .latest.limited(to: Self.capacity)
        ) { batches.record($0) }
        for value in 0..<Self.count { receptionist.receive(value) }
        gate.open()
        let batch = await batches.wait(for: 1)
        #expect(batch.map(\.values) == [[Self.count - 1]])
        #expect(batch.map(\.dropped) == [Self.count - Self.capacity])
    }

    @Test func aFullCoalescerTakesAValueForTheCostOfOne() {
        var coalescer = Coalescer<Int>(
            .batch(every: .seconds(1), atMost: .max).limited(to: Self.capacity)
        )
        for value in 1...Self.count { _ = coalescer.received(value, seq: UInt64(value)) }
        guard case .deliver(let batch, _) = coalescer.rang() else {
            Issue.record("nothing is held")
            return
        }
        #expect(batch.values == Array((Self.count - Self.capacity + 1)...Self.count))
        #expect(batch.dropped == Self.count - Self.capacity)
    }

    /// As many keys as there is room for, each with three values, and then one more key at a time.
    @Test func aValueOfManyKeysCostsTheSame() {
        var coalescer = Coalescer<Int>(
            .latestPer { AnyHashable($0 % (3 * Self.capacity)) }.limited(to: Self.capacity)
        )
        let keys = 0..<Self.capacity
        for _ in 0..<3 {
            for key in keys { _ = coalescer.received(key, seq: 1) }
        }
        for key in Self.capacity..<(2 * Self.capacity) { _ = coalescer.received(key, seq: 2) }
        guard case .deliver(let batch, _) = coalescer.burstEnded() else {
            Issue.record("nothing is held")
            return
        }
        #expect(batch.values == Array(Self.capacity..<(2 * Self.capacity)))
        #expect(batch.coalesced == 2 * Self.capacity)
        #expect(batch.dropped == Self.capacity)
    }

    @Test func aLongBacklogOfASequenceIsReadForTheCostOfEach() async {
        let machine = StateMachine<AppState>()
        let transitions = Transitions(
            of: machine,
            starting: .next,
            delivering: .each.limited(to: 2 * Self.capacity)
        )
        var iterator = transitions.makeAsyncIterator()
        machine.churn(Self.capacity)
        for seq in 1...UInt64(Self.capacity) {
            guard case .change(let transition) = await iterator.next(), transition.seq == seq else {
                Issue.record("not the change that is due")
                return
            }
        }
    }
}
