import StateMachineCore
import StateMachineProtocol

extension StateCoding {
    /// A state as recorded: the bytes that are sent.
    func recorded(_ state: State) -> RecordedTransition.State {
        RecordedTransition.State(
            name: state.name.rawValue,
            data: self.data(of: state).description
        )
    }
}

extension WallTime {
    /// As a part of a file's name: `20261121T120000.000000Z`.
    var fileName: String { self.rfc3339.filter { $0 != "-" && $0 != ":" } }
}
