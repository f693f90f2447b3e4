package import StateMachineCore

/// A machine's states in the form that they have on the wire.
package struct StateCoding<State: MachineState>: Sendable {
    private let form: any StateForm<State>
    package let schema: StateSchema

    /// States of that form.
    package init(_ form: some StateForm<State>) {
        self.form = form
        self.schema = form.schema
    }

    /// The values of an enum, in the form that is read off its type.
    package init() where State: EnumState { self.init(EnumForm()) }

    /// The state that a machine is in before anybody has set one.
    package var initial: State { self.form.initial }

    /// A state's `data`.
    package func data(of state: State) -> JSONValue { self.form.data(of: state) }

    /// `"state":"…","data":{…}`: what every line about that state carries.
    package func fragment(of state: State) -> [UInt8] {
        self.fragment(of: state, data: self.data(of: state))
    }

    /// The same, for a state whose `data` is at hand.
    package func fragment(of state: State, data: JSONValue) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(text: "\"state\":")
        bytes.append(jsonString: state.name.rawValue)
        bytes.append(text: ",\"data\":")
        bytes.append(json: data)
        return bytes
    }

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    package func state(_ name: String, data: JSONValue?) throws(WireError) -> State {
        try self.form.state(name, data: data)
    }

    package func matches(_ pattern: Pattern, _ state: State) -> Bool {
        let name = state.name.rawValue
        // Most patterns name another state, or nothing but a state.
        let isNamed = name.isSpelled(pattern.state)
        guard isNamed, !pattern.data.isEmpty else { return isNamed }
        return pattern.matches(name, self.data(of: state))
    }
}
