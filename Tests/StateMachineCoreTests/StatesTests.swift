import Glibc
import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

/// States as a sequence, and waiting for one.
@Suite(.bounded) struct StatesTests {
    @Test func thePresentStateComesFirstAndThenEachThatIsEntered() async throws {
        let machine = StateMachine<AppState>()
        var iterator = machine.states.makeAsyncIterator()
        machine.state = .ready(true)
        machine.state = .authentication(.active)
        let heard = [
            try await iterator.next(), try await iterator.next(), try await iterator.next(),
        ]
        #expect(heard == [.ready(false), .ready(true), .authentication(.active)])
    }

    @Test func theyEndWithTheMachine() async throws {
        var machine: StateMachine<AppState>? = StateMachine<AppState>()
        let states = machine?.states
        machine?.state = .ready(true)
        var heard: [AppState] = []
        let iterator = states?.makeAsyncIterator()
        machine = nil
        var left = iterator
        while let state = try await left?.next() { heard.append(state) }
        #expect(heard == [.ready(true)])
    }

    @Test func whoIsLateGoesOnWithTheNewest() async throws {
        let machine = StateMachine<AppState>()
        var iterator = machine.states.makeAsyncIterator()
        machine.churn(2001)
        await machine.flush()
        #expect(try await iterator.next() == .ready(false))
        #expect(try await iterator.next() == machine.state)
    }

    @Test func theStateThatIsThereIsNotWaitedFor() async throws {
        let machine = StateMachine<AppState>()
        machine.state = .ready(true)
        let found = try await machine.wait { $0 == .ready(true) }
        #expect(found == machine.snapshot)
    }

    @Test func aStateCountsHoweverBriefly() async throws {
        let machine = StateMachine<AppState>()
        let (began, beginning) = AsyncStream.makeStream(of: Void.self)
        async let found = machine.wait { state in
            beginning.finish()
            return state == .authentication(.failure)
        }
        for await _ in began {}
        // The first state it checks is the one that was already there.
        machine.churn(3000)
        machine.state = .authentication(.failure)
        machine.churn(3000)
        #expect(try await found.seq == 3001)
    }

    @Test func afterTheTimeThereIsNone() async throws {
        let clock = ManualClock()
        let machine = StateMachine<AppState> { $0.clock = clock }
        async let found = machine.wait(until: { $0 == .ready(true) }, within: .seconds(5))
        await clock.sleepers(1)
        clock.advance(by: .seconds(5))
        #expect(try await found == nil)
        #expect(machine.responders(to: .ready) == 0)
    }

    @Test func cancelledItThrowsAndLeavesNothing() async throws {
        let machine = StateMachine<AppState>()
        let (began, beginning) = AsyncStream.makeStream(of: Void.self)
        let waiting = Task {
            try await machine.wait { _ in
                beginning.finish()
                return false
            }
        }
        for await _ in began {}
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(machine.responders(to: .ready) == 0)
        await #expect(throws: CancellationError.self) {
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await machine.wait { _ in true }
            }.value
        }
    }

    @Test func aSlowPredicateKeepsNobodyElseFromFindingAState() async {
        // A process of its own: a predicate that blocks takes one of the pool's threads.
        await #expect(processExitsWith: .success) {
            let clock = ManualClock()
            let machine = StateMachine<AppState> { $0.clock = clock }
            let gate = TestSupport.Gate()
            let begun = Recorder<Void>()
            let slow = Task.immediate {
                try? await machine.wait { state in
                    guard state == .ready(true) else { return false }
                    begun.record(())
                    gate.pass()
                    return true
                }
            }
            await others()
            machine.state = .ready(true)
            await begun.wait(for: 1)
            let other = Task {
                try? await machine.wait(
                    until: { $0 == .authentication(.active) },
                    within: .seconds(1)
                )
            }
            await clock.sleepers(1)
            machine.state = .authentication(.active)
            machine.state = .ready(false)
            clock.advance(by: .seconds(2))
            guard await other.value?.seq == 2 else { exit(3) }
            gate.open()
            guard await slow.value?.seq == 1 else { exit(4) }
        }
    }

    @Test func aWaitThatFallsBehindALimitFindsTheStateThatTheMachineStaysIn() async {
        // A process of its own: a predicate that blocks takes one of the pool's threads.
        await #expect(processExitsWith: .success) {
            let machine = StateMachine<AppState> { $0.laneLimit = 2 }
            let gate = TestSupport.Gate()
            let begun = Recorder<Void>()
            let waiting = Task.immediate {
                try? await machine.wait(
                    until: { state in
                        if state == .ready(true) {
                            begun.record(())
                            gate.pass()
                        }
                        return state == .authentication(.failure)
                    },
                    within: .seconds(60)
                )
            }
            await others()
            machine.state = .ready(true)
            await begun.wait(for: 1)
            for _ in 0..<10 {
                machine.state = .dataRetrieval(.active)
                machine.state = .dataRetrieval(.success)
            }
            machine.state = .authentication(.failure)
            gate.open()
            guard await waiting.value?.seq == 22 else { exit(3) }
        }
    }
}
