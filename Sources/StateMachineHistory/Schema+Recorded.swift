import StateMachineCore
import StateMachineProtocol

extension Schema {
    /// A state as recorded: the bytes that are sent.
    func recorded(_ value: Value) -> RecordedTransition.State {
        RecordedTransition.State(name: value.name, data: self.encoded(value).dataText)
    }
}

extension WallTime {
    /// As a part of a file's name: `20261121T120000.000000Z`.
    var fileName: String { self.rfc3339.filter { $0 != "-" && $0 != ":" } }
}
