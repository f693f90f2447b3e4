import StateMachineCore
import StateMachineProtocol

extension StateCoding {
    /// A state as it is written down: the bytes that are sent.
    func recorded(_ state: State) -> RecordedTransition.State {
        RecordedTransition.State(
            name: state.name.rawValue,
            data: self.data(of: state).description
        )
    }

    /// The state that a transition led to, as this program knows it.
    func state(of transition: RecordedTransition, in file: String) throws(HistoryError) -> State {
        let recorded = transition.new
        do {
            return try self.state(recorded.name, data: JSONValue(parsing: recorded.data))
        } catch {
            throw HistoryError(
                "\(file) ends with a state that this program does not know (\(error.message)); "
                    + "start the program that wrote it, or move the file away to begin anew"
            )
        }
    }
}

extension WallTime {
    /// As a part of a file's name: `20261121T120000.000000Z`.
    var fileName: String { self.rfc3339.filter { $0 != "-" && $0 != ":" } }
}
