package import StateMachineCore

/// The form of an enum's values.
///
/// `state` is the case's name, `data` an object that holds the associated values by label. One
/// without a label is `value`; further ones are `value2`, `value3` and so on. Both ways go through
/// the `Codable` conformance that the compiler writes.
package struct EnumForm<State: EnumState>: StateForm {
    package let schema: StateSchema

    /// Examines the enum, which takes a while.
    package init() {
        self.schema = StateSchema(of: State.self)
    }

    package var initial: State { .initial }

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
}
