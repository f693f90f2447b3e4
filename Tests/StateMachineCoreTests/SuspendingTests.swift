import Dispatch
import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

/// A log that commits in a task of its own, on the threads that other tasks use.
private final class TaskLog: WriteAheadLog {
    func commit(
        _ group: [Transition<AppState>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) { Task { done(nil) } }
}

/// The suspending calls, and what happens to them when their task is cancelled.
///
/// When `Task.immediate` returns, its task has reached the point where it waits.
@Suite(.bounded) struct SuspendingTests {
    @Test func theEndOfAnAsyncVotersFunctionIsWaitedFor() async {
        let machine = StateMachine<AppState>()
        let recorder = Recorder<String>()
        let goOn = Recorder<Void>()
        let registration = machine.addVoter(label: "async") { _ in
            recorder.record("begins")
            await goOn.wait(for: 1)
            recorder.record("ends")
            return .yes
        }
        let proposing = Task { try await machine.propose(.ready(true)) }
        await recorder.wait(for: 1)
        let cancelling = Task {
            await registration.cancelAndWait()
            recorder.record("the end")
        }
        // The question no longer waits for it.
        _ = await proposing.result
        goOn.record(())
        await cancelling.value
        #expect(recorder.heard == ["begins", "ends", "the end"])
    }

    @Test func anAsyncVoterThatEndsItselfIsNotWaitedForByItself() async throws {
        let machine = StateMachine<AppState>()
        let registrations = Recorder<Registration>()
        let registration = machine.addVoter(label: "async") { _ in
            await registrations.heard.first?.cancelAndWait()
            return .yes
        }
        registrations.record(registration)
        try await machine.propose(.ready(true))
        await registration.cancelAndWait()
    }

    private let asks = Recorder<Ask>()

    private func guarded(
        _ options: StateMachine<AppState>.Options = .init()
    ) -> StateMachine<AppState> {
        let machine = StateMachine(options: options)
        let asks = self.asks
        machine.addVoter(
            label: "v",
            on: .immediate,
            deadline: VoteDeadline(limit: nil, whenSilent: .yes)
        ) { asks.record($0) }
        return machine
    }

    /// Without `await` the call would throw, because a voter has to be asked.
    @Test func awaitPicksTheProposalThatSuspends() async throws {
        let machine = self.guarded()
        let task = Task.immediate { try await machine.propose(.ready(true)) }
        #expect(machine.state == .ready(false))
        self.asks.heard.first?.vote(.yes)
        #expect(try await task.value.seq == 1)
    }

    /// More tasks than there are threads, each of which waits for one of the log's tasks.
    @Test func tasksThatAssignTakeNoThreadFromTheLog() async throws {
        let machine = StateMachine<AppState> { $0.log = TaskLog() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask { try await machine.assign(.ready(true), reenter: true) }
            }
            try await group.waitForAll()
        }
        #expect(machine.snapshot.seq == 64)
    }

    @Test func aProposalThatIsWithdrawnBeforeItsTurnDoesNotHappen() async {
        let machine = self.guarded()
        let outcomes = Recorder<Bool>()
        machine.propose(.ready(true)) { outcomes.record((try? $0.get()) != nil) }
        let task = Task.immediate { try await machine.propose(.authentication(.active)) }
        machine.propose(.dataRetrieval(.active)) { outcomes.record((try? $0.get()) != nil) }
        let before = machine.snapshot
        task.cancel()
        await #expect(throws: TransitionError<AppState>(.withdrawn, current: before)) {
            try await task.value
        }
        for turn in 0..<2 { self.asks.heard[turn].vote(.yes) }
        #expect(
            self.asks.heard.map(\.proposal.proposed) == [.ready(true), .dataRetrieval(.active)]
        )
        #expect(outcomes.heard == [true, true])
    }

    @Test func aProposalThatIsWithdrawnBeforeItsVotersFreesTheWay() async {
        let machine = self.guarded()
        let task = Task.immediate { try await machine.propose(.ready(true)) }
        let outcomes = Recorder<Bool>()
        machine.propose(.dataRetrieval(.active)) { outcomes.record((try? $0.get()) != nil) }
        #expect(self.asks.heard.count == 1)
        task.cancel()
        await #expect(throws: TransitionError<AppState>(.withdrawn, current: machine.snapshot)) {
            try await task.value
        }
        #expect(self.asks.heard.count == 2)
        #expect(self.asks.heard.first?.vote(.yes) == false)
        #expect(self.asks.heard.last?.vote(.yes) == true)
        #expect(outcomes.heard == [true])
        #expect(machine.state == .dataRetrieval(.active))
    }

    @Test func whatIsWithTheLogIsNotWithdrawnAnyMoreAndWhatGathersIs() async throws {
        let log = PatientLog<AppState>()
        let machine = StateMachine<AppState> { $0.log = log }
        let first = Task.immediate { try await machine.propose(.ready(true)) }
        let second = Task.immediate { try await machine.assign(.authentication(.active)) }
        first.cancel()
        second.cancel()
        await #expect(throws: TransitionError<AppState>(.withdrawn, current: machine.snapshot)) {
            try await second.value
        }
        await log.groups.wait(for: 1).last?.done(nil)
        #expect(try await first.value.seq == 1)
        #expect(log.groups.heard.count == 1)
    }

    @Test func aCancelledTaskProposesAndAssignsNothing() async {
        let machine = StateMachine<AppState>()
        let gate = Recorder<Void>()
        let task = Task {
            await gate.wait(for: 1)
            let proposed = await Self.isWithdrawn { () async throws(TransitionError<AppState>) in
                try await machine.propose(.ready(true))
            }
            let assigned = await Self.isWithdrawn { () async throws(TransitionError<AppState>) in
                try await machine.assign(.ready(true))
            }
            return proposed && assigned
        }
        task.cancel()
        gate.record(())
        #expect(await task.value)
        #expect(machine.snapshot.seq == 0)
    }

    private static func isWithdrawn(
        _ body: () async throws(TransitionError<AppState>) -> StateMachine<AppState>.Acceptance
    ) async -> Bool {
        do {
            _ = try await body()
            return false
        } catch {
            return error.reason == .withdrawn
        }
    }

    @Test func aCancelledFlushEndsAndOthersGoOn() async {
        let machine = StateMachine<AppState> { $0.clock = ManualClock() }
        let held = HeldQueue()
        let listener = Listener()
        machine.addDelegate(listener, on: held.context)
        machine.churn(3)
        let endless = Task.immediate { await machine.flush() }
        let bounded = Task.immediate { await machine.flush(within: .seconds(3600)) }
        let other = Task.immediate { await machine.flush(within: .seconds(3600)) }
        endless.cancel()
        bounded.cancel()
        #expect(await endless.value == false)
        #expect(await bounded.value == false)
        #expect(listener.seqs.isEmpty)
        held.open()
        #expect(await other.value)
        #expect(listener.seqs == [1, 2, 3])
    }
}

extension StateMachine.Acceptance {
    /// The seq that it led to; nil if nothing happened.
    fileprivate var seq: UInt64? {
        switch self {
        case .committed(let transition): transition.seq
        case .unchanged: nil
        }
    }
}
