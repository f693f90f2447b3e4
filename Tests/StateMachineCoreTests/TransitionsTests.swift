import StateMachineCore
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
            guard case .change(let transition) = await iterator.next() else {
                Issue.record("no change")
                return
            }
            #expect(transition.seq == seq)
        }
    }

    @Test func startingWithTheNextLeavesTheCurrentOut() async {
        let machine = StateMachine<AppState>()
        var iterator = Transitions(of: machine, starting: .next, delivering: .each)
            .makeAsyncIterator()
        machine.churn(1)
        guard case .change(let transition) = await iterator.next() else {
            Issue.record("no change")
            return
        }
        #expect(transition.seq == 1)
    }

    @Test func whatALateIteratorMissedIsSaidAndItGoesOnFromThere() async {
        let machine = StateMachine<AppState>()
        var iterator = Transitions(of: machine, starting: .next, delivering: .each.limited(to: 4))
            .makeAsyncIterator()
        machine.churn(7)
        // Now the iterator is as late as it will get.
        await machine.flush()
        let expected = Snapshot(
            seq: 5,
            state: AppState.ready(true),
            at: machine.snapshot.at
        )
        guard case .missed(let count, let now) = await iterator.next() else {
            Issue.record("nothing missed")
            return
        }
        #expect(count == 5)
        #expect(now.seq == expected.seq && now.state == expected.state)
        guard case .change(let next) = await iterator.next() else {
            Issue.record("no change")
            return
        }
        #expect(next.seq == 6)
        #expect(next.old == now.state)
    }

    @Test func everyIteratorHearsEverything() async {
        let machine = StateMachine<AppState>()
        let sequence = Transitions(
            of: machine,
            starting: .next,
            delivering: .each.limited(to: 10_000)
        )
        let iterators = (0..<3).map { _ in sequence.makeAsyncIterator() }
        machine.churn(500)
        for iterator in iterators {
            #expect(await Self.seqs(iterator, until: 500) == Array(1...500))
        }
    }

    @Test func aCancelledTaskStopsHearing() async {
        let machine = StateMachine<AppState>()
        let begun = Recorder<Void>()
        let task = Task {
            var count = 0
            for await _ in machine.transitions() {
                count += 1
                begun.record(())
            }
            return count
        }
        await begun.wait(for: 1)
        task.cancel()
        #expect(await task.value == 1)
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

    private static func seqs(
        _ iterator: Transitions<AppState>.Iterator,
        until last: UInt64
    ) async -> [UInt64] {
        var iterator = iterator
        var seqs: [UInt64] = []
        while let heard = await iterator.next() {
            guard case .change(let transition) = heard else { continue }
            seqs.append(transition.seq)
            if transition.seq >= last { break }
        }
        return seqs
    }
}
