import Dispatch
import StateMachineTesting
import TestSupport
import Testing

@testable import StateMachineCore

private final class Told: StateDelegate {
    let heard = Recorder<String>()

    func stateChanged(_ transition: Transition<AppState>) { self.heard.record("\(transition.seq)") }

    func transitionsMissed(_ count: Int, now: Snapshot<AppState>) {
        self.heard.record("missed \(count), at \(now.seq)")
    }
}

/// Delegates, closures, actors and sequences have the same delivery options as receptionists.
@Suite(.bounded) struct DeliveredTests {
    private let clock = ManualClock()
    private let machine: StateMachine<AppState>

    init() {
        let clock = self.clock
        self.machine = StateMachine { $0.clock = clock }
    }

    /// A rare case among a frequent one.
    private func setManyAndOne() {
        self.machine.state = .authentication(.active)
        for step in 0..<6 {
            self.machine.state = .ready(step.isMultiple(of: 2))
            if step == 2 { self.machine.state = .dataRetrieval(.failure) }
        }
    }

    @Test func aDelegateIsToldTheNewestOfEachCaseAtItsPace() async {
        let told = Told()
        let registration = self.machine.addDelegate(
            told,
            delivering: .paced(every: .milliseconds(50), per: { $0.new.name }).limited(to: 1000)
        )
        self.setManyAndOne()
        #expect(told.heard.heard == ["1"])
        await self.clock.sleepers(1)
        self.clock.advance(by: .milliseconds(50))
        #expect(await told.heard.wait(for: 3) == ["1", "5", "8"])
        registration.cancel()
    }

    @Test func whatThereWasNoRoomForIsToldAsMissed() async {
        let told = Told()
        let registration = self.machine.addDelegate(
            told,
            delivering: .batch(every: .seconds(1), atMost: 99).limited(to: 2)
        )
        self.machine.churn(5)
        let last = self.machine.snapshot.seq
        #expect(told.heard.heard.isEmpty)
        registration.flush()
        #expect(
            told.heard.heard == ["missed \(last - 2), at \(last - 2)", "\(last - 1)", "\(last)"]
        )
    }

    @Test func aDelegateIsThereOnceHoweverItIsDelivered() {
        let told = Told()
        self.machine.addDelegate(told, delivering: .latest)
        self.machine.addDelegate(told)
        #expect(self.machine.responders(to: .ready) == 1)
        self.machine.state = .ready(true)
        #expect(told.heard.heard == ["1"])
        self.machine.removeDelegate(told)
        self.machine.state = .ready(false)
        #expect(told.heard.heard == ["1"])
    }

    /// It is released, and nothing is kept for it any more, though nobody asks whether it is there.
    @Test func theOneThatIsGoneCostsNothingMore() {
        final class Token: Sendable {}
        weak var kept: Token?
        let unheard = Recorder<UInt64>()
        let machine = StateMachine<AppState> {
            $0.clock = self.clock
            $0.unheard = { unheard.record($0.seq) }
        }
        do {
            let (told, token) = (Told(), Token())
            kept = token
            machine.addDelegate(
                told,
                delivering: .settled(
                    after: .seconds(1),
                    per: { [token] transition in
                        withExtendedLifetime(token) { transition.new.name }
                    }
                )
            )
        }
        machine.churn(2)
        #expect(kept == nil)
        #expect(machine.responders(to: .ready) == 0)
        #expect(unheard.heard.count == machine.snapshot.seq)
    }

    /// On a new machine, whose state has seq 0.
    @Test func whatADrainHasLetGoOfIsToldAfterWhatIsKeptAndFromTheVeryBeginning() async {
        let machine = StateMachine<AppState> { $0.laneLimit = 10 }
        let held = HeldQueue()
        let told = Told()
        machine.addDelegate(
            told,
            on: held.context,
            starting: .current,
            delivering: .latestPer { $0.new.name }
        )
        machine.churn(100)
        let last = machine.snapshot.seq
        held.open()
        #expect(
            await told.heard.wait(for: 3) == ["0", "missed \(last - 1), at \(last - 1)", "\(last)"]
        )
    }

    @Test func aClosureForAnObjectIsNotTheObjectsPlaceAsADelegate() async {
        let told = Told()
        let own = Recorder<UInt64>()
        self.machine.addDelegate(told, on: .main, delivering: .latest) { _, transition in
            own.record(transition.seq)
        }
        self.machine.addDelegate(told, on: .main)
        self.machine.state = .ready(true)
        #expect(await told.heard.wait(for: 1) == ["1"])
        #expect(await own.wait(for: 1) == [1])
    }

    @Test func noCallBeginsAfterACancellationWithinABatch() {
        let heard = Recorder<UInt64>()
        let registration = Lock<Registration?>(nil)
        let registered = self.machine.addObserver(
            delivering: .batch(every: .seconds(1), atMost: 3)
        ) { transition in
            heard.record(transition.seq)
            registration.withLock { $0 }?.cancel()
        }
        registration.withLock { $0 = registered }
        self.machine.churn(5)
        #expect(heard.heard == [1])
    }

    @Test(arguments: [false, true])
    func whoWaitsForWhatIsKeptHasAllThatWasCommitted(_ atSource: Bool) async {
        let heard = Recorder<UInt64>()
        let registration = self.machine.addReceptionist(
            on: .queue(DispatchQueue(label: "own")),
            selecting: { $0.seq },
            atSource: atSource,
            delivering: .batch(every: .seconds(3600), atMost: 10_000),
            task: { for seq in $0.values { heard.record(seq) } }
        )
        for _ in 0..<50 {
            self.machine.churn(20)
            await registration.flushAndWait()
            #expect(heard.heard.last == self.machine.snapshot.seq)
        }
        // For a cancelled one nothing is kept, and nobody waits.
        self.machine.churn(20)
        let count = heard.heard.count
        await registration.cancelAndWait()
        await registration.flushAndWait()
        #expect(heard.heard.count == count)
    }

    @Test func whoWaitsForAContextThatDoesNothingIsLetGoByItsCancelling() async {
        let held = HeldQueue()
        let told = Told()
        let registration = self.machine.addDelegate(told, on: held.context, delivering: .latest)
        self.machine.churn(3)
        let waiting = Task.immediate { await registration.flushAndWait() }
        let other = Task.immediate { await registration.flushAndWait() }
        waiting.cancel()
        await waiting.value
        #expect(told.heard.heard.isEmpty)
        held.open()
        await other.value
        #expect(told.heard.heard == ["\(self.machine.snapshot.seq)"])
    }

    @Test func aSequenceHasTheNewestOfEachCaseAndEndsWithTheMachine() async {
        var options = StateMachine<AppState>.Options()
        options.clock = self.clock
        var machine: StateMachine<AppState>? = StateMachine(options: options)
        let transitions = machine?.transitions(
            starting: .next,
            delivering: .settled(after: .seconds(1), per: { $0.new.name })
        )
        guard let iterator = transitions?.makeAsyncIterator() else { return }
        machine?.state = .authentication(.active)
        machine?.state = .ready(true)
        machine?.state = .authentication(.success)
        // An iterator hears on a queue; the alarm of an earlier change would be another one.
        await machine?.flush()
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(1))
        var left = iterator
        var heard: [UInt64] = []
        while heard.count < 2, case .change(let transition) = await left.next(isolation: nil) {
            heard.append(transition.seq)
        }
        #expect(heard == [2, 3])
        machine = nil
        #expect(await left.next(isolation: nil) == nil)
    }

    @Test func anActorIsToldAtItsPaceInsideItsIsolation() async {
        let counter = Counter()
        self.machine.addDelegate(counter, delivering: .paced(every: .seconds(1))) {
            counter,
            transition in
            counter.note(transition)
        }
        self.machine.churn(1)
        #expect(await counter.heard.wait(for: 1) == [1])
        self.machine.churn(6)
        await self.machine.flush()
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(1))
        #expect(await counter.heard.wait(for: 2) == [1, self.machine.snapshot.seq])
    }

    @Test func anObserverHearsTheStatesThatItAsksForWhenTheyHaveSettled() async {
        let heard = Recorder<UInt64>()
        self.machine.addObserver(of: [.ready], delivering: .settled(after: .seconds(1))) {
            heard.record($0.seq)
        }
        self.setManyAndOne()
        await self.clock.sleepers(1)
        #expect(heard.heard.isEmpty)
        self.clock.advance(by: .seconds(1))
        #expect(await heard.wait(for: 1) == [8])
    }

    /// What was to ring for a batch that is delivered by its count, or by a flush, is not for the next one.
    @Test(arguments: [true, false]) func aBatchesIntervalBeginsWithItsFirstValue(byCount: Bool) {
        var coalescer = Coalescer<Int>(.batch(every: .seconds(1), atMost: byCount ? 2 : 99))
        func step(_ action: Coalescer<Int>.Action) -> String {
            switch action {
            case .wait: "wait"
            case .deliver(let batch, nil): "deliver \(batch.values)"
            case .deliver(let batch, let pause?): "deliver \(batch.values), ring after \(pause)"
            case .ring(let pause): "ring after \(pause)"
            }
        }
        #expect(step(coalescer.received(1, seq: 1)) == "ring after 1.0 seconds")
        let second = step(coalescer.received(2, seq: 2))
        #expect((byCount ? second : step(coalescer.deliver())) == "deliver [1, 2]")
        #expect(step(coalescer.received(3, seq: 3)) == "ring after 1.0 seconds")
        #expect(step(coalescer.rang()) == "deliver [3]")
        // One that still rings has nothing to deliver.
        #expect(step(coalescer.rang()) == "wait")
    }

    @Test func whatListensBehindALimitHearsTheNewestOfWhatItMisses() async {
        let machine = StateMachine<AppState> { $0.laneLimit = 2 }
        let queue = DispatchQueue(label: "suspended")
        let (closure, latest, entering, leaving, others) = (
            Heard(), Heard(), Heard(), Heard(), Heard()
        )
        machine.addObserver(on: .queue(queue)) { closure.record($0) }
        machine.addObserver(on: .queue(queue), delivering: .latest) { latest.record($0) }
        machine.addObserver(on: .queue(queue), of: [.authentication]) { others.record($0) }
        machine.onEnter(.dataRetrieval, on: .queue(queue)) { entering.record($0) }
        machine.onExit(.ready, on: .queue(queue)) { leaving.record($0) }
        queue.suspend()
        machine.churn(11)
        machine.state = .dataRetrieval(.active)
        queue.resume()
        await machine.flush()
        for heard in [closure, latest, entering, leaving] {
            #expect(heard.heard.last?.seq == 12)
        }
        #expect(others.heard.isEmpty)
    }
}

private actor Counter {
    nonisolated let heard = Recorder<UInt64>()

    func note(_ transition: Transition<AppState>) { self.heard.record(transition.seq) }
}
