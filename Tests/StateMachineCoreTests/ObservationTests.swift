import Observation
import StateMachineCore
import TestSupport
import Testing

@Suite(.bounded) struct ObservationTests {
    @Test func whoTracksTheStateIsToldOfTheNextTransitionOnce() {
        let machine = StateMachine<AppState>()
        let told = Recorder<AppState>()
        let first = withObservationTracking {
            machine.observed
        } onChange: {
            told.record(machine.state)
        }
        #expect(first == .ready(false))
        machine.state = .ready(true)
        machine.state = .authentication(.active)
        // Tracking ends with the first change, when the machine has moved on.
        #expect(told.heard == [.ready(true)])
    }

    @Test func whatReadsTheStateOtherwiseIsNotTold() {
        let machine = StateMachine<AppState>()
        let told = Recorder<Void>()
        withObservationTracking {
            _ = machine.state
        } onChange: {
            told.record(())
        }
        machine.state = .ready(true)
        #expect(told.heard.isEmpty)
    }

    /// Whoever reads the present state is told if it is not that any more, however the threads meet.
    @Test func noTransitionLiesBetweenTheReadingAndTheTracking() async {
        for _ in 0..<50 {
            let machine = StateMachine<AppState>()
            let told = Recorder<Void>()
            let seen = Recorder<AppState>()
            await onThreads(2) { thread in
                if thread == 0 {
                    machine.state = .ready(true)
                } else {
                    let state = withObservationTracking {
                        machine.observed
                    } onChange: {
                        told.record(())
                    }
                    seen.record(state)
                }
            }
            #expect(seen.heard == [.ready(true)] || told.heard.count == 1)
        }
    }

    @Test func itKeepsNoMachineAlive() {
        weak var weak: StateMachine<AppState>?
        do {
            let machine = StateMachine<AppState>()
            weak = machine
            withObservationTracking {
                _ = machine.observed
            } onChange: {
            }
        }
        #expect(weak == nil)
    }
}
