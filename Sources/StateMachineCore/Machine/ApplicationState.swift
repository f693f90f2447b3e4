/// A state that belongs to one machine, so that it can be read and set through its type.
///
/// ```swift
/// extension AppState: @retroactive ApplicationState {
///     public static let machine = StateMachine<AppState>()
/// }
///
/// AppState.state = .authentication(.active)
/// if AppState.state == .ready(true) { … }
/// ```
///
/// The application chooses the machine; this module holds none. A state of the application's own
/// needs no `@retroactive`; that is for a state that another module declares.
public protocol ApplicationState: MachineState {
    /// The one machine.
    static var machine: StateMachine<Self> { get }
}

extension ApplicationState {
    /// The state of the one machine, read and set as ``StateMachine/state`` is.
    public static var state: Self {
        get { self.machine.state }
        set { self.machine.state = newValue }
    }
}
