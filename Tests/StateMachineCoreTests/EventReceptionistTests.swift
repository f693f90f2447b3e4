import Dispatch
import Foundation
import StateMachineTesting
import TestSupport
import Testing

@testable import StateMachineCore

private protocol Paging: AnyObject, Sendable {
    func page(_ name: String)
}

extension EventReceptionist: Paging where Event == String {
    fileprivate func page(_ name: String) { self.receive(name) }
}

@Suite(.bounded) struct EventReceptionistTests {
    private let clock = ManualClock()

    @Test func aReceptionistIsFedByHandFromAnySource() async {
        let batches = Recorder<Delivery<String>.Batch>()
        let queue = DispatchQueue(label: "target")
        let context: DispatchQueue = .queue(queue)
        let strangers = Recorder<Void>()
        let receptionist = EventReceptionist<String>(on: context) { batch in
            if context.isCurrent != true { strangers.record(()) }
            batches.record(batch)
        }
        // A block handler, a notification, a delegate's method.
        DispatchQueue(label: "elsewhere").sync { receptionist.receive("by hand") }
        let center = NotificationCenter()
        let token = center.addObserver(forName: .init("page"), object: nil, queue: nil) {
            receptionist.receive($0.object as? String ?? "")
        }
        center.post(name: .init("page"), object: "by a notification")
        let pagers = MulticastDelegate<AnyObject>()
        pagers.add(receptionist, on: .immediate)
        pagers.broadcast((any Paging).self) { $0.page("by a delegate's method") }
        let all = await batches.wait(for: 3)
        #expect(
            all.flatMap(\.values) == ["by hand", "by a notification", "by a delegate's method"]
        )
        #expect(all.map(\.seqs) == [1...1, 2...2, 3...3])
        #expect(strangers.heard.isEmpty)
        center.removeObserver(token)
    }

    @Test(arguments: Place.allCases)
    func whatSeveralThreadsPutInComesOutOnceInTheOrderOfItsNumbers(on place: Place) async {
        let batches = Recorder<Delivery<Int>.Batch>()
        let receptionist = EventReceptionist<Int>(
            on: place.context,
            delivering: .each.limited(to: 10_000)
        ) {
            batches.record($0)
        }
        await onThreads(4) { thread in
            for step in 0..<200 { receptionist.receive(thread * 1000 + step) }
        }
        let all = await batches.wait(for: 800)
        #expect(all.map(\.seqs.lowerBound) == Array(1...800))
        let values = all.flatMap(\.values)
        for thread in 0..<4 {
            #expect(values.filter { $0 / 1000 == thread } == (0..<200).map { thread * 1000 + $0 })
        }
    }

    @Test func whatAStuckContextHadNoRoomForIsCountedAndTheNewestIsThere() async {
        let held = HeldQueue()
        let batches = Recorder<Delivery<Int>.Batch>()
        let receptionist = EventReceptionist<Int>(
            on: held.context,
            delivering: .latest.limited(to: 4),
            task: { batches.record($0) }
        )
        for event in 1...10 { receptionist.receive(event) }
        held.open()
        #expect(
            await batches.wait(for: 1)
                == [.init(values: [10], seqs: 1...10, coalesced: 3, dropped: 6)]
        )
    }

    /// While the context takes events out, as many are put in as there is no room for.
    @Test func whatIsDroppedWhileTheTaskIsCalledIsAccountedForInOrder() async {
        let (batches, count) = (Recorder<Delivery<Int>.Batch>(), 100_000)
        let receptionist = EventReceptionist<Int>(
            on: .queue(DispatchQueue(label: "busy")),
            delivering: .each.limited(to: 2),
            task: { batches.record($0) }
        )
        await onThreads(1) { _ in
            for event in 1...count { receptionist.receive(event) }
        }
        let all = await batches.wait { $0.last?.seqs.upperBound == UInt64(count) }
        #expect(all.reduce(0) { $0 + $1.values.count + $1.dropped } == count)
        #expect(all.first?.seqs.lowerBound == 1)
        #expect(
            zip(all, all.dropFirst()).allSatisfy { $0.seqs.upperBound + 1 == $1.seqs.lowerBound }
        )
        #expect(all.allSatisfy { $0.values.last.map(UInt64.init) == $0.seqs.upperBound })
    }

    @Test func anEventThatTheTaskPutsInComesAfterIt() {
        let order = Recorder<String>()
        let own = Recorder<EventReceptionist<Int>>()
        let receptionist = EventReceptionist<Int>(on: .immediate) { batch in
            order.record("begins \(batch.values)")
            if batch.values == [1] { for receptionist in own.heard { receptionist.receive(2) } }
            order.record("ends \(batch.values)")
        }
        own.record(receptionist)
        receptionist.receive(1)
        #expect(order.heard == ["begins [1]", "ends [1]", "begins [2]", "ends [2]"])
    }

    @Test(arguments: [true, false])
    func onceClosedOrReleasedNothingIsTakenInAndWhatWaitedGoesNowhere(isClosed: Bool) {
        let held = HeldQueue()
        let heard = Recorder<[Int]>()
        do {
            let receptionist = EventReceptionist<Int>(on: held.context) { heard.record($0.values) }
            receptionist.receive(1)
            if isClosed {
                receptionist.close()
                receptionist.receive(2)
                held.open()
                held.queue.sync {}
            }
        }
        held.open()
        held.queue.sync {}
        #expect(heard.heard.isEmpty)
    }

    @Test func aReceptionistWithoutRoomEndsTheProcessAndSaysSo() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            _ = EventReceptionist<Int>(on: .immediate, delivering: .each.limited(to: 0)) { _ in }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("a delivery's limit must be at least 1"))
    }

    @Test func eventsAreCollectedUntilTheIntervalOrUntilTheyAreFlushed() async {
        let batches = Recorder<[Int]>()
        let receptionist = EventReceptionist<Int>(
            on: .immediate,
            delivering: .batch(every: .seconds(1), atMost: 99),
            clock: self.clock,
            task: { batches.record($0.values) }
        )
        receptionist.receive(1)
        receptionist.receive(2)
        #expect(batches.heard.isEmpty)
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(1))
        await batches.wait(for: 1)
        receptionist.receive(3)
        receptionist.flush()
        #expect(batches.heard == [[1, 2], [3]])
    }

    @Test func aBatchOfAnySizeFills() {
        let batches = Recorder<Delivery<Int>.Batch>()
        let receptionist = EventReceptionist<Int>(
            on: .immediate,
            delivering: .batch(every: .seconds(1), atMost: 5000),
            clock: ManualClock()
        ) {
            batches.record($0)
        }
        for event in 0..<5000 { receptionist.receive(event) }
        #expect(batches.heard.map(\.values.count) == [5000])
        #expect(batches.heard.map(\.dropped) == [0])
    }
}
