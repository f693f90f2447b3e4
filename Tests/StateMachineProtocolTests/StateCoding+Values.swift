import StateMachineCore
import StateMachineProtocol

/// What a schema says of values, of a program's own states.
extension StateCoding {
    func data(of state: State) -> JSONValue { self.data(of: TypedValue(state) as Value) }

    func fragment(of state: State) -> [UInt8] { self.encoded(TypedValue(state)).fragment }

    func matches(_ pattern: Pattern, _ state: State) -> Bool {
        self.matches(pattern, TypedValue(state))
    }

    func carried(_ name: String, data: [JSONMember]) throws(NotCarriedOver) -> State {
        TypedValue.state(of: try self.carried(name, data: data))
    }
}
