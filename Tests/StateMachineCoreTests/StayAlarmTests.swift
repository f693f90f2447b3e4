import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

/// States with a limit on how long they last.
@Suite(.bounded) struct StayAlarmTests {
    private let clock = ManualClock()
    private let recorder = Recorder<Transition<AppState>>()

    private func machine(
        log: (any WriteAheadLog<AppState>)? = nil,
        unassigned: (@Sendable (AppState, TransitionError<AppState>) -> Void)? = nil
    ) -> StateMachine<AppState> {
        let machine = StateMachine<AppState> {
            $0.clock = self.clock
            $0.log = log
            $0.unassigned = unassigned
        }
        let recorder = self.recorder
        machine.addObserver { recorder.record($0) }
        return machine
    }

    @Test func aStateIsLeftWhenItsTimeIsOver() async {
        let machine = self.machine()
        machine.after(.seconds(30), in: .authentication) { _ in .ready(false) }
        machine.state = .authentication(.active)
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(30))
        let heard = await self.recorder.wait(for: 2)
        #expect(heard[1].old == .authentication(.active))
        #expect(heard[1].new == .ready(false))
        #expect(heard[1].cause == "after 30.0 seconds")
    }

    @Test func theTimeIsTheStays() async {
        let machine = self.machine()
        machine.after(.seconds(30), in: .ready, .authentication) { state in
            state == .ready(false) ? .dataRetrieval(.active) : .ready(false)
        }
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(20))
        machine.state = .authentication(.active)
        await machine.flush()
        self.clock.advance(by: .seconds(20))
        #expect(machine.state == .authentication(.active))
        machine.state = .authentication(.success)
        await machine.flush()
        self.clock.advance(by: .seconds(29))
        #expect(machine.state == .authentication(.success))
        // It is not known exactly when the last one's clock began.
        while self.recorder.heard.count < 3 {
            self.clock.advance(by: .seconds(30))
            await Task.yield()
        }
        let last = self.recorder.heard[2]
        #expect(last.old == .authentication(.success))
        #expect(last.new == .ready(false))
    }

    @Test func oneThatIsCancelledStopsItsClock() async {
        let machine = self.machine()
        let registration = machine.after(.seconds(30), in: .ready) { _ in .authentication(.active) }
        machine.after(.seconds(60), in: .ready) { _ in .dataRetrieval(.active) }
        await self.clock.sleepers(2)
        await registration.cancelAndWait()
        self.clock.advance(by: .seconds(60))
        let heard = await self.recorder.wait(for: 1)
        #expect(heard.map(\.new) == [.dataRetrieval(.active)])
    }

    @Test func whatTheLogDoesNotTakeIsTold() async {
        let refused = Recorder<AppState>()
        let machine = self.machine(log: FullLog()) { state, _ in refused.record(state) }
        machine.after(.seconds(30), in: .ready) { _ in .authentication(.active) }
        await self.clock.sleepers(1)
        self.clock.advance(by: .seconds(30))
        #expect(await refused.wait(for: 1) == [.authentication(.active)])
        #expect(machine.state == .ready(false))
    }

    @Test func aStayThatIsRenewedSleepsOnceTheMachineIsFlushed() async {
        let clock = ManualClock()
        let machine = StateMachine<AppState> { $0.clock = clock }
        machine.after(.seconds(1), in: .authentication) { _ in .ready(true) }
        for _ in 0..<100 {
            machine.state = .authentication(.active)
            await machine.flush()
            await clock.sleepers(1)
            machine.state = .authentication(.success)
            await machine.flush()
            await clock.sleepers(1)
            clock.advance(by: .seconds(1))
            _ = try? await machine.wait { $0 == .ready(true) }
        }
        #expect(machine.snapshot.seq == 300)
    }
}
