package import StateMachineCore

/// The schema of an enum's values.
///
/// `state` is the case's name, `data` an object with the associated values by label. One without a
/// label is `value`; further ones are `value2`, `value3` and so on. Encoding and decoding use the
/// `Codable` conformance that the compiler writes.
package final class EnumSchema<State: EnumState>: Schema {
    package let described: StateSchema
    package let problems: [String]

    /// Examines the enum, which takes a while.
    package init() {
        self.described = StateSchema(of: State.self)
        self.problems = EnumCheck<State>(self.described).problems
    }

    package var initial: Value { TypedValue(State.initial) }

    package var lost: Value? { State.lost.map { TypedValue($0) } }

    package func data(of value: Value) -> JSONValue {
        self.data(of: TypedValue<State>.state(of: value))
    }

    private func data(of state: State) -> JSONValue {
        do {
            return try JSONCase(JSONValue(encoding: state))?.data ?? .object([])
        } catch {
            // The conformance that the compiler writes cannot fail here: only the encoder could
            // throw, and ours does not.
            preconditionFailure("\(state) does not encode itself: \(error)")
        }
    }

    package func value(_ name: String, data: JSONValue?) throws(WireError) -> Value {
        let found = try self.described.case(name)
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
        for member in members {
            try found.checkMarks(of: member)
            try found.check(member)
        }
        let state = try self.state(found, members, by: .request)
        if !found.isComplete {
            // Its own encoding names the fields that probing did not reach.
            let known = self.data(of: state).members ?? []
            let values = JSONMembers(known)
            if let odd = members.first(where: { $0.value != .null && values[$0.key] == nil }) {
                throw found.noField(odd.key, known: known.map(\.key))
            }
        }
        return TypedValue(state)
    }

    /// The state of that name, else the one that used to have it; its fields likewise.
    package func carried(
        _ name: String,
        data: [JSONMember]
    ) throws(NotCarriedOver) -> Value {
        guard let found = self.described.case(ofOldState: name) else {
            throw NotCarriedOver(
                sentence: "there is no state \(name.quoted); known: "
                    + self.described.names.joined(separator: ", "),
                hasState: false
            )
        }
        do {
            return TypedValue(try self.state(found, found.carried(data), by: .recorded))
        } catch {
            throw NotCarriedOver(sentence: error.message, hasState: true)
        }
    }

    private func state(
        _ found: StateSchema.Case,
        _ data: [JSONMember],
        by rule: JSONReadingRule
    ) throws(WireError) -> State {
        let name = found.name
        do {
            return try JSONValue.decode(name, data, by: rule, as: State.self)
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
