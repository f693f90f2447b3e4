import StateMachineCore
import StateMachineTesting
import TestSupport
import Testing

/// Tasks that run for as long as a state lasts.
@Suite(.bounded) struct StayTaskTests {
    private enum Event: Hashable {
        case began(AppState)
        case cancelled(AppState)
    }

    /// Records when it begins, and when it is cancelled.
    private static func work(_ recorder: Recorder<Event>) -> @Sendable (AppState) async -> Void {
        { state in
            recorder.record(.began(state))
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                recorder.record(.cancelled(state))
            }
        }
    }

    @Test func itLastsAsLongAsTheState() async {
        let machine = StateMachine<AppState>()
        let recorder = Recorder<Event>()
        machine.during(.authentication, body: Self.work(recorder))
        machine.state = .ready(true)
        machine.state = .authentication(.active)
        await recorder.wait(for: 1)
        machine.state = .authentication(.success)
        await recorder.wait(for: 3)
        machine.state = .ready(true)
        let heard = await recorder.wait(for: 4)
        #expect(
            heard == [
                .began(.authentication(.active)), .cancelled(.authentication(.active)),
                .began(.authentication(.success)), .cancelled(.authentication(.success)),
            ]
        )
    }

    @Test func aBodyThatEndsItsOwnRegistrationIsNotWaitedForByItself() async {
        let machine = StateMachine<AppState>()
        let registrations = Recorder<Registration>()
        let recorder = Recorder<String>()
        let registration = machine.during(.ready) { _ in
            await registrations.wait(for: 1).first?.cancelAndWait()
            recorder.record("the body continues")
        }
        registrations.record(registration)
        await recorder.wait(for: 1)
        await registration.cancelAndWait()
        recorder.record("the end")
        #expect(recorder.heard == ["the body continues", "the end"])
    }

    @Test func thePresentStateCounts() async {
        let machine = StateMachine<AppState>()
        let recorder = Recorder<Event>()
        machine.during(.ready, .dataRetrieval, body: Self.work(recorder))
        #expect(await recorder.wait(for: 1) == [.began(.ready(false))])
    }

    @Test func theNextBeginsWhenTheLastHasEndedAndWhatWasBetweenIsLeftOut() async {
        let machine = StateMachine<AppState>()
        let recorder = Recorder<String>()
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        machine.during(.authentication) { state in
            recorder.record("begins \(state)")
            if state == .authentication(.active) {
                // A task that ignores its cancellation.
                let waiting = Task { for await _ in held {} }
                await waiting.value
            }
            recorder.record("ends \(state)")
        }
        machine.state = .authentication(.active)
        await recorder.wait(for: 1)
        for _ in 0..<1000 {
            machine.state = .authentication(.idle)
            machine.state = .ready(true)
        }
        machine.state = .authentication(.success)
        await machine.flush()
        #expect(recorder.heard.count == 1)
        release.finish()
        let (active, success) = (
            AppState.authentication(.active), AppState.authentication(.success)
        )
        #expect(
            await recorder.wait(for: 4) == [
                "begins \(active)", "ends \(active)", "begins \(success)", "ends \(success)",
            ]
        )
    }

    @Test func whoCancelsAndWaitsFindsItEnded() async {
        let machine = StateMachine<AppState>()
        let recorder = Recorder<Event>()
        let registration = machine.during(.ready, body: Self.work(recorder))
        await recorder.wait(for: 1)
        await registration.cancelAndWait()
        #expect(recorder.heard == [.began(.ready(false)), .cancelled(.ready(false))])
        machine.state = .ready(true)
        await machine.flush()
        #expect(recorder.heard.count == 2)
    }
}
