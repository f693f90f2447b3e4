import Dispatch
import StateMachineTesting
import TestSupport
import Testing

@testable import StateMachineCore

private typealias Batches = Recorder<Delivery<UInt64>.Batch>

@Suite(.bounded) struct ReceptionistTests {
    @Test func flushingAMachineBesideTheEndOfAReceptionistAtItsSourceIsSafe() async {
        await #expect(processExitsWith: .success) {
            let machine = StateMachine<AppState>()
            let flushing = Task { while !Task.isCancelled { await machine.flush() } }
            for _ in 0..<20_000 {
                machine.addReceptionist(
                    on: .immediate,
                    selecting: { $0.seq },
                    atSource: true,
                    task: { _ in }
                ).cancel()
            }
            flushing.cancel()
            await flushing.value
        }
    }

    @Test(arguments: [false, true])
    func whatPassedBeforeTheMachineWentIsDelivered(atSource: Bool) async {
        let held = HeldQueue()
        let heard = Recorder<UInt64>()
        var machine: StateMachine<AppState>? = StateMachine<AppState>()
        machine?.addReceptionist(
            on: held.context,
            selecting: { $0.seq },
            atSource: atSource,
            task: { for seq in $0.values { heard.record(seq) } }
        )
        machine?.churn(10)
        machine = nil
        held.open()
        #expect(await heard.wait(for: 10) == Array(1...10))
    }

    private let clock = ManualClock()
    private let machine: StateMachine<AppState>
    private let batches = Batches()

    init() {
        let clock = self.clock
        self.machine = StateMachine { $0.clock = clock }
    }

    @discardableResult
    private func receptionist(
        on context: any ExecutionContext = .immediate,
        atSource selectsAtSource: Bool = false,
        delivering delivery: Delivery<UInt64>,
        starting start: StateMachine<AppState>.Start = .next
    ) -> Registration {
        self.machine.addReceptionist(
            on: context,
            selecting: { $0.seq },
            atSource: selectsAtSource,
            delivering: delivery,
            starting: start,
            task: { self.batches.record($0) }
        )
    }

    @Test func itHearsEveryTransitionAfterItsStart() async {
        self.machine.churn(3)
        let heard = Heard()
        let bursts = Recorder<Int>()
        let target = DispatchQueue(label: "target")
        let cursor = self.machine.follow(
            on: .queue(target),
            burstEnd: { bursts.record(heard.heard.count) },
            { heard.record($0) }
        )
        #expect(Snapshot(cursor.start) == self.machine.snapshot)
        self.machine.churn(2)
        await self.machine.flush()
        // A flush does not wait for `afterBurst`.
        target.sync {}
        #expect(heard.heard.map(\.seq).first == cursor.start.seq + 1)
        #expect(bursts.heard.last == heard.heard.count)
    }

    @Test(arguments: [255, 256, 257, 512])
    func theEndOfABurstIsToldHoweverManyTurnsItTook(_ count: Int) async {
        let machine = StateMachine<AppState>()
        let held = HeldQueue()
        let (heard, bursts) = (Heard(), Recorder<Int>())
        _ = machine.follow(
            on: held.context,
            burstEnd: { bursts.record(heard.heard.count) },
            { heard.record($0) }
        )
        machine.churn(count)
        held.open()
        // The last turn is the one that finds nothing more. Not a flush, which would add an entry.
        for _ in 0..<5 { await passed(held.queue) }
        #expect(bursts.heard.last == count)
    }

    @Test func theTaskIsGivenOldAndNewOfItsOwnChange() async {
        let backlog = HeldQueue()
        let changes = Recorder<[AppState]>()
        _ = self.machine.follow(on: backlog.context) { changes.record([$0.old, $0.new]) }
        self.machine.state = .authentication(.active)
        self.machine.state = .ready(true)
        backlog.open()
        await self.machine.flush()
        #expect(
            changes.heard == [
                [.ready(false), .authentication(.active)],
                [.authentication(.active), .ready(true)],
            ]
        )
    }

    @Test func aCancelledOneHearsNothingMoreAndADroppedOneGoesOn() {
        self.receptionist(delivering: .each).cancel()
        self.machine.churn(1)
        #expect(self.batches.heard.isEmpty)
        // Dropping a registration changes nothing, whatever it registers.
        self.receptionist(delivering: .each)
        self.machine.churn(2)
        #expect(self.batches.heard.map(\.values) == [[2]])
    }

    @Test func catchingUpTellsWhatIsThereOnTheContextItself() async {
        let queue = DispatchQueue(label: "own")
        let heard = Recorder<UInt64>()
        let cursor = self.machine.follow(on: .queue(queue)) { heard.record($0.seq) }
        let machine = self.machine
        let atOnce = queue.sync {
            machine.churn(2)
            cursor.cursor.catchUp()
            return heard.heard
        }
        await machine.flush()
        #expect(atOnce == [1, 2])
        #expect(heard.heard == [1, 2])
    }

    @Test func catchingUpElsewhereTrapsAndSaysSo() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            StateMachine<AppState>().follow(on: .queue(DispatchQueue(label: "own"))) { _ in }
                .cursor.catchUp()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("catchUp() must be called on its execution context"))
    }

    @Test func eachGivesEveryValueByItself() {
        self.receptionist(delivering: .each)
        self.machine.churn(3)
        #expect(self.batches.heard.map(\.values) == [[1], [2], [3]])
    }

    @Test(arguments: [false, true])
    func latestGivesTheNewestOfWhatGathered(_ selectsAtSource: Bool) async {
        let backlog = HeldQueue()
        self.receptionist(
            on: backlog.context,
            atSource: selectsAtSource,
            delivering: .latest
        )
        self.machine.churn(10)
        backlog.open()
        await self.batches.wait(for: 1)
        await self.machine.flush()
        #expect(self.batches.heard == [.init(values: [10], seqs: 1...10, coalesced: 9, dropped: 0)])
    }

    @Test func latestPerKeyGivesTheNewestOfEachKey() async {
        let backlog = HeldQueue()
        self.receptionist(
            on: backlog.context,
            delivering: .latestPer { AnyHashable($0 % 3) }
        )
        self.machine.churn(10)
        backlog.open()
        await self.batches.wait(for: 1)
        #expect(
            self.batches.heard == [
                .init(values: [8, 9, 10], seqs: 1...10, coalesced: 7, dropped: 0)
            ]
        )
    }

    @Test func aBatchGoesAtItsIntervalOrWhenItIsFull() async {
        self.receptionist(delivering: .batch(every: .seconds(1), atMost: 3))
        self.machine.churn(4)
        #expect(self.batches.heard.map(\.values) == [[1, 2, 3]])
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(1))
        await self.batches.wait(for: 2)
        #expect(self.batches.heard.map(\.values) == [[1, 2, 3], [4]])
    }

    @Test func pacedGivesTheFirstAtOnceAndTheLastForCertain() async {
        self.receptionist(delivering: .paced(every: .seconds(1)))
        self.machine.churn(5)
        #expect(self.batches.heard.map(\.values) == [[1]])
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(1))
        await self.batches.wait(for: 2)
        #expect(
            self.batches.heard.last == .init(values: [5], seqs: 2...5, coalesced: 3, dropped: 0)
        )
    }

    @Test func settledWaitsForQuietAndGivesTheNewest() async {
        self.receptionist(delivering: .settled(after: .seconds(1)))
        self.machine.churn(3)
        await self.clock.sleepers(1)
        self.clock.advance(by: .milliseconds(900))
        #expect(self.batches.heard.isEmpty)
        self.machine.churn(2)
        await self.clock.sleepers(1)
        self.clock.advance(by: .milliseconds(900))
        #expect(self.batches.heard.isEmpty)
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(1))
        await self.batches.wait(for: 1)
        #expect(self.batches.heard.map(\.values) == [[self.machine.snapshot.seq]])
    }

    @Test(arguments: [false, true])
    func startingWithTheCurrentStateLeavesNoGap(_ selectsAtSource: Bool) async {
        self.machine.churn(3)
        self.receptionist(
            atSource: selectsAtSource,
            delivering: .each,
            starting: .current
        )
        self.machine.churn(2)
        #expect(self.batches.heard.flatMap(\.values) == Array(3...self.machine.snapshot.seq))
    }

    @Test func whatIsScreenedAtTheSourceCostsTheTargetNothing() async {
        let jobs = Recorder<Void>()
        let context = WatchedContext { job in
            jobs.record(())
            job()
        }
        let values = Recorder<[UInt64]>()
        self.machine.addReceptionist(
            on: context,
            selecting: { $0.seq == 5 ? $0.seq : nil },
            atSource: true,
            task: { values.record($0.values) }
        )
        self.machine.churn(10)
        #expect(values.heard == [[5]])
        #expect(jobs.heard.count == 1)
    }

    @Test func aKeyPathIsToldOnlyWhenItsValueChanged() {
        let names = Recorder<[AppState.Name]>()
        self.machine.addReceptionist(of: \.name, on: .immediate) {
            names.record($0.values)
        }
        self.machine.state = .ready(true)
        self.machine.state = .authentication(.active)
        self.machine.state = .authentication(.success)
        self.machine.state = .ready(true)
        #expect(names.heard == [[.authentication], [.ready]])
    }

    @Test func whatAStuckContextMissedIsCountedAndTheNewestIsThere() async {
        let machine = StateMachine<AppState> { $0.laneLimit = 10 }
        let backlog = HeldQueue()
        machine.addReceptionist(
            on: backlog.context,
            selecting: { $0.seq },
            delivering: .latest,
            task: { self.batches.record($0) }
        )
        machine.churn(100)
        backlog.open()
        await self.batches.wait(for: 1)
        let batch = self.batches.heard[0]
        #expect(batch.values == [100])
        #expect(batch.seqs == 1...100)
        #expect(1 + batch.coalesced + batch.dropped == 100)
    }
}
