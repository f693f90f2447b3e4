public import StateMachineCore
import TestSupport
import Testing

extension AppState: ApplicationState {
    /// The application's one machine.
    public static let machine = StateMachine<AppState>()
}

@Suite struct ApplicationStateTests {
    @Test func theStateIsReadAndSetByItsTypesName() {
        let listener = Listener()
        AppState.machine.addDelegate(listener)
        AppState.state = .authentication(.active)
        #expect(AppState.state == .authentication(.active))
        #expect(AppState.state != .authentication(.idle))
        #expect(listener.heard.heard.map(\.new) == [.authentication(.active)])
    }
}
