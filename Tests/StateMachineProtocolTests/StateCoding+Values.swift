import StateMachineCore
import StateMachineProtocol

/// What a schema says of values, of a program's own states.
extension StateCoding {
    func data(of state: State) -> JSONValue { self.schema.data(of: TypedValue(state)) }

    func fragment(of state: State) -> [UInt8] { self.schema.encoded(TypedValue(state)).fragment }

    func matches(_ pattern: Pattern, _ state: State) -> Bool {
        self.schema.matches(pattern, TypedValue(state))
    }

    func carried(_ name: String, data: [JSONMember]) throws(NotCarriedOver) -> State {
        TypedValue.state(of: try self.schema.carried(name, data: data))
    }
}
