import CAllocations
import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

@Suite(.bounded) struct TransitionsTests {
    @Test func theCurrentStateComesFirstAndNothingIsMissedAfterIt() async {
        let machine = StateMachine<AppState>()
        machine.churn(2)
        var iterator = Transitions(of: machine, starting: .current, delivering: .each)
            .makeAsyncIterator()
        let snapshot = machine.snapshot
        machine.churn(3)
        #expect(await iterator.next() == .current(snapshot))
        for seq in (snapshot.seq + 1)...machine.snapshot.seq {
            #expect(await iterator.next()?.change?.seq == seq)
        }
    }

    @Test func whatALateIteratorMissedIsSaidAndItGoesOnFromThere() async {
        let machine = StateMachine<AppState>()
        var iterator = Transitions(of: machine, starting: .next, delivering: .each.limited(to: 4))
            .makeAsyncIterator()
        machine.churn(7)
        // Now the iterator is as late as it will get.
        await machine.flush()
        let expected = Snapshot(seq: 5, state: AppState.ready(true), at: machine.snapshot.at)
        guard case .missed(let count, let now) = await iterator.next() else {
            Issue.record("nothing missed")
            return
        }
        #expect(count == 5)
        #expect(now.seq == expected.seq && now.state == expected.state)
        let next = await iterator.next()?.change
        #expect(next?.seq == 6 && next?.old == now.state)
    }

    @Test func aSlowKeyFunctionHoldsUpItsOwnIteratorOnly() async throws {
        let clock = ManualClock()
        let machine = StateMachine<AppState> { $0.clock = clock }
        let (begun, gate) = (Recorder<Void>(), TestSupport.Gate())
        let delivery = Delivery<Transition<AppState>>.latestPer { transition in
            begun.record(())
            gate.pass()
            return transition.seq
        }
        var iterator = Transitions(of: machine, starting: .next, delivering: delivery)
            .makeAsyncIterator()
        machine.state = .ready(true)
        await begun.wait(for: 1)
        let late = Recorder<Bool>()
        let waiting = Task.immediate {
            let found = try? await machine.wait(until: { _ in false }, within: .seconds(1))
            late.record(found == nil)
        }
        machine.after(.seconds(1), in: .ready) { _ in .authentication(.idle) }
        await clock.sleepers(2)
        clock.advance(by: .seconds(1))
        #expect(await late.wait(for: 1) == [true])
        #expect(try await machine.wait(until: { $0 == .authentication(.idle) }).seq == 2)
        await waiting.value
        gate.open()
        #expect(await iterator.next()?.seq == 1)
    }

    @Test func anIteratorThatIsGoneIsNotRegisteredAnyMore() {
        let machine = StateMachine<AppState>()
        do {
            let iterator = Transitions(of: machine, starting: .current, delivering: .each)
                .makeAsyncIterator()
            #expect(machine.responders(to: .ready) == 1)
            withExtendedLifetime(iterator) {}
        }
        #expect(machine.responders(to: .ready) == 0)
    }

    @Test(arguments: [false, true])
    func anIteratorThatComesLateGetsTheNewestOnly(perKey: Bool) async {
        let machine = StateMachine<AppState>()
        let delivery: Delivery<Transition<AppState>> =
            perKey ? .latestPer { $0.new.name } : .latest
        var iterator = machine.transitions(starting: .next, delivering: delivery)
            .map { $0.seq }
            .makeAsyncIterator()
        for _ in 0..<100 {
            machine.state = .authentication(.active)
            machine.state = .ready(true)
            await machine.flush()
        }
        if perKey {
            #expect(await iterator.next() == 199)
        }
        #expect(await iterator.next() == 200)
        machine.state = .ready(false)
        #expect(await iterator.next() == 201)
    }
}

/// A screen that iterates in its own isolation.
private actor Screen {
    private(set) var seqs: [UInt64] = []

    func follow(_ transitions: Transitions<AppState>, until last: UInt64) async {
        var iterator = transitions.makeAsyncIterator()
        while let heard = await iterator.next(isolation: self) {
            self.assertIsolated()
            guard let change = heard.change else { continue }
            self.seqs.append(change.seq)
            if change.seq == last { return }
        }
    }
}

/// Many iterators, several tasks on one, and the end of the machine.
@Suite(.bounded) struct TransitionsSharingTests {
    @Test func iteratingEndsWhenTheMachineGoesAfterWhatHappened() async {
        var machine: StateMachine? = StateMachine<AppState>()
        guard
            let transitions = machine.map({
                Transitions(of: $0, starting: .next, delivering: .each)
            })
        else { return }
        var early = transitions.makeAsyncIterator()
        let waiting = Task.immediate {
            var iterator = transitions.makeAsyncIterator()
            var seqs: [UInt64] = []
            while let heard = await iterator.next() {
                if let change = heard.change { seqs.append(change.seq) }
            }
            return seqs
        }
        machine?.churn(2)
        await machine?.flush()
        machine = nil
        #expect(await waiting.value == [1, 2])
        for seq in UInt64(1)...2 {
            #expect(await early.next()?.change?.seq == seq)
        }
        #expect(await early.next() == nil)
        var late = transitions.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test func tasksAtOneIteratorAreServedOneAfterTheOther() async {
        let machine = StateMachine<AppState>()
        let iterator = Transitions(of: machine, starting: .next, delivering: .each)
            .makeAsyncIterator()
        let tasks = (0..<3).map { _ in
            Task.immediate {
                var own = iterator
                return await own.next()
            }
        }
        // A cancelled task takes nothing, and ends no other.
        tasks[1].cancel()
        #expect(await tasks[1].value == nil)
        machine.churn(3)
        #expect(await tasks[0].value?.change?.seq == 1)
        #expect(await tasks[2].value?.change?.seq == 2)
        var own = iterator
        #expect(await own.next()?.change?.seq == 3)
    }

    @Test func anActorIteratesInItsOwnIsolation() async {
        let machine = StateMachine<AppState>()
        let screen = Screen()
        let transitions = Transitions(of: machine, starting: .next, delivering: .each)
        let following = Task.immediate { await screen.follow(transitions, until: 3) }
        while machine.responders(to: .ready) == 0 { await Task.yield() }
        machine.churn(3)
        await following.value
        #expect(await screen.seqs == [1, 2, 3])
    }

    /// The setter wakes one queue, which then wakes everybody who waits.
    @Test(
        .enabled(if: allocations_are_counted(), "a sanitizer has an allocator of its own"),
        arguments: [1, 1000]
    )
    func aSetCostsTheSameHoweverManyIterate(_ count: Int) async {
        let machine = StateMachine<AppState>()
        let transitions = Transitions(of: machine, starting: .next, delivering: .each)
        let tasks = (0..<count).map { _ in
            Task.immediate {
                var iterator = transitions.makeAsyncIterator()
                var seqs: [UInt64] = []
                while seqs.count < 3, case .change(let transition) = await iterator.next() {
                    seqs.append(transition.seq)
                }
                return seqs
            }
        }
        // The first two fill caches.
        var allocated = 0
        for step in 1...3 {
            let next = AppState.ready(!step.isMultiple(of: 2))
            allocated = Self.allocations { machine.state = next }
            await machine.flush()
        }
        // The entry, and waking a queue, which may start a thread.
        #expect(allocated <= 10)
        for task in tasks { #expect(await task.value == [1, 2, 3]) }
    }

    private static func allocations(of body: () -> Void) -> Int {
        let before = allocations_of_this_thread()
        body()
        return Int(allocations_of_this_thread() - before)
    }
}
