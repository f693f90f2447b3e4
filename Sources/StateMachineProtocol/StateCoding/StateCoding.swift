public import StateMachineCore

/// A machine's states in their wire form.
///
/// Costly to create for an enum, which is examined; create one and keep it. A reference to
/// something that never changes: it travels with every change.
public final class StateCoding<State: MachineState & Hashable>: Sendable {
    private let form: any StateForm<State>
    package let schema: StateSchema
    /// What the machine does besides being set; nil if nothing.
    package let behaviour: (any StateBehaviour<State>)?

    /// States of that form.
    package init(_ form: some StateForm<State>) {
        self.form = form
        self.behaviour = form.behaviour
        self.schema = form.schema
    }

    /// The values of an enum, in the form that is read from its type.
    ///
    /// `state` is the case's name, `data` an object with the associated values by label. One
    /// without a label is `value`; further ones are `value2`, `value3` and so on.
    public convenience init() where State: EnumState { self.init(EnumForm()) }

    /// The state that a machine is in before anybody has set one.
    package var initial: State { self.form.initial }

    /// A state as a value of the machine; nil if it is not one, as when the daemon holds another
    /// machine.
    public func state(_ named: NamedState) -> State? {
        do {
            return try self.state(named.name, data: .object(named.data))
        } catch {
            // The caller asked whether it is one and has no use for the reason why not.
            return nil
        }
    }

    /// A state as it appears in a line or a request.
    public func named(_ state: State) -> NamedState {
        NamedState(state.name.rawValue, self.data(of: state).members ?? [])
    }

    /// A state's `data`.
    package func data(of state: State) -> JSONValue { self.form.data(of: state) }

    /// `"state":"…","data":{…}`: the part that every line about that state carries.
    package func fragment(of state: State) -> [UInt8] {
        self.fragment(of: state, data: self.data(of: state))
    }

    /// The same, for a state whose `data` is already known.
    package func fragment(of state: State, data: JSONValue) -> [UInt8] {
        var writer = LineWriter()
        writer.text("\"state\":")
        writer.quoted(state.name.rawValue)
        writer.text(",\"data\":")
        writer.json(data)
        return writer.bytes
    }

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    package func state(_ name: String, data: JSONValue?) throws(WireError) -> State {
        try self.form.state(name, data: data)
    }

    /// Why no machine can have such states, one sentence each; empty if one can.
    package var problems: [String] { self.form.problems }

    /// The declaration of the states, if it may change.
    package var declaration: RecordedDeclaration? { self.form.declaration }

    /// Converts a recorded state, perhaps from when the states looked different, to one of these.
    ///
    /// - Throws: what is missing.
    package func carried(
        _ name: String,
        data: [JSONMember]
    ) throws(NotCarriedOver) -> State {
        try self.form.carried(name, data: data)
    }

    /// The state to start in if the present state cannot be carried over; nil refuses to start.
    package var lost: State? { self.form.lost }

    package func matches(_ pattern: Pattern, _ state: State) -> Bool {
        let name = state.name.rawValue
        // Most patterns name another state, or only a state.
        let isNamed =
            pattern.isOfGroup
            ? self.behaviour?.isMember(state, ofGroup: pattern.name) ?? false
            : pattern.selects(name)
        guard isNamed, !pattern.data.isEmpty else { return isNamed }
        return pattern.asksFor(self.data(of: state))
    }
}
