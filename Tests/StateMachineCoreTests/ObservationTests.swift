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
        // Tracking ends with the first change, once the machine has moved on.
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

    /// Tracking again after each change reports the next one, whoever sets.
    @Test func whoTracksAnewIsToldAnewByWhateverThread() async {
        let machine = StateMachine<AppState>()
        let told = Recorder<AppState>()
        for phase in AppState.Phase.allCases {
            withObservationTracking {
                _ = machine.observed
            } onChange: {
                told.record(machine.state)
            }
            await onThreads(1) { _ in machine.state = .authentication(phase) }
        }
        #expect(told.heard == AppState.Phase.allCases.map { .authentication($0) })
    }

    /// Whether a tracked state is really shown is unknown, so it counts as unheard.
    @Test func whatIsTrackedIsHeardByNobody() {
        let unheard = Recorder<UInt64>()
        let machine = StateMachine<AppState> { $0.unheard = { unheard.record($0.seq) } }
        _ = machine.observed
        let leaving = machine.onExit(.authentication) { _ in }
        machine.state = .ready(true)
        #expect(unheard.heard == [1])
        leaving.cancel()
        #expect(machine.responders(to: .ready) == 0)
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
