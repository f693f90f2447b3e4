public import StateMachineCore

/// The form that the values of one enum have on the wire.
///
/// `state` is the case's name, `data` an object that holds the associated values by label. One
/// without a label is `value`; further ones are `value2`, `value3` and so on. Both ways go through
/// the `Codable` conformance that the compiler writes.
///
/// Costly to make, since the enum is examined; make one and keep it.
public struct StateCoding<State: MachineState>: Sendable {
    package let schema: StateSchema

    /// The form of that enum's values.
    public init() {
        self.schema = StateSchema(of: State.self)
    }

    /// A state as a value of the enum; nil if it is none, as when the daemon holds another.
    public func state(_ named: NamedState) -> State? {
        do {
            return try self.state(named.name, data: .object(named.data))
        } catch {
            // The caller asked whether it is one; the reason why not is of no use to it.
            return nil
        }
    }

    /// A state as it stands in a line or a request.
    public func named(_ state: State) -> NamedState {
        NamedState(state.name.rawValue, self.data(of: state).members ?? [])
    }

    /// A state's `data`.
    package func data(of state: State) -> JSONValue {
        do {
            let json = try JSONValue(encoding: state)
            let members = json[state.name.rawValue]?.members ?? []
            return .object(
                members.map { JSONMember(StateField.name(ofKey: $0.key), $0.value) }
            )
        } catch {
            // The conformance that the compiler writes cannot fail here: nothing in it throws but
            // the encoder, and ours throws nothing.
            preconditionFailure("\(state) does not encode itself: \(error)")
        }
    }

    /// `"state":"…","data":{…}`: what every line about that state carries.
    package func fragment(of state: State) -> [UInt8] {
        self.fragment(of: state, data: self.data(of: state))
    }

    /// The same, for a state whose `data` is at hand.
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
        let found = try self.schema.case(name)
        guard let members = (data ?? .object([])).members else {
            throw WireError(.badData, "data of \(name) must be an object")
        }
        if data == nil && found.fields.contains(where: { !$0.isOptional }) {
            throw WireError(
                .badData,
                "\(name) needs data: \(found.fields.map(\.name).joined(separator: ", "))",
                known: found.fields.map(\.name)
            )
        }
        var payload: [JSONMember] = []
        for member in members {
            try found.checkMarks(of: member)
            if let field = try found.check(member) {
                payload.append(JSONMember(field.key, member.value))
                continue
            }
            payload.append(member)
            if let key = StateField.unlabelledKey(ofName: member.key) {
                payload.append(JSONMember(key, member.value))
            }
        }
        let state = try self.state(found, payload)
        if !found.isComplete {
            // Its own encoding names the fields that probing did not reach.
            let known = self.data(of: state).members ?? []
            let values = JSONMembers(known)
            if let odd = members.first(where: { $0.value != .null && values[$0.key] == nil }) {
                throw found.noField(odd.key, known: known.map(\.key))
            }
        }
        return state
    }

    private func state(
        _ found: StateSchema.Case,
        _ payload: [JSONMember]
    ) throws(WireError) -> State {
        let name = found.name
        do {
            return try JSONValue.object([JSONMember(name, .object(payload))]).decode(State.self)
        } catch let error as DecodingError {
            throw WireError(.badData, error.sentence(about: name), known: found.fields.map(\.name))
        } catch {
            throw WireError(
                .badData,
                "data of \(name) was refused: \("\(error)".excerpt(128))"
            )
        }
    }

    package func matches(_ pattern: Pattern, _ state: State) -> Bool {
        let name = state.name.rawValue
        // Most patterns name another state, or nothing but a state.
        let isNamed = name.isSpelled(pattern.state)
        guard isNamed, !pattern.data.isEmpty else { return isNamed }
        return pattern.matches(name, self.data(of: state))
    }
}
