import CAllocations
import StateMachineCore
import TestSupport
import Testing

/// A screen that iterates in its own isolation.
private actor Screen {
    private(set) var seqs: [UInt64] = []

    func follow(_ transitions: Transitions<AppState>, until last: UInt64) async {
        var iterator = transitions.makeAsyncIterator()
        while let heard = await iterator.next(isolation: self) {
            self.assertIsolated()
            guard case .change(let transition) = heard else { continue }
            self.seqs.append(transition.seq)
            if transition.seq == last { return }
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
                if case .change(let transition) = heard { seqs.append(transition.seq) }
            }
            return seqs
        }
        machine?.churn(2)
        await machine?.flush()
        machine = nil
        #expect(await waiting.value == [1, 2])
        for seq in UInt64(1)...2 {
            guard case .change(let transition) = await early.next() else {
                Issue.record("no change")
                return
            }
            #expect(transition.seq == seq)
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
        var seqs: [UInt64] = []
        for task in [tasks[0], tasks[2]] {
            if case .change(let transition) = await task.value { seqs.append(transition.seq) }
        }
        #expect(seqs == [1, 2])
        var own = iterator
        guard case .change(let third) = await own.next() else {
            Issue.record("no change")
            return
        }
        #expect(third.seq == 3)
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
        // The entry, and waking a queue.
        #expect(allocated <= 8)
        for task in tasks { #expect(await task.value == [1, 2, 3]) }
    }

    private static func allocations(of body: () -> Void) -> Int {
        let before = allocations_of_this_thread()
        body()
        return Int(allocations_of_this_thread() - before)
    }
}
