package import StateMachineCore

/// What JSON type a field of a state has.
package enum JSONFieldType: String, Hashable, Sendable {
    case boolean
    case integer
    case number
    case string
    case array
    case object

    init?(_ type: Any.Type) {
        switch type {
        case is Bool.Type: self = .boolean
        case is any FixedWidthInteger.Type: self = .integer
        case is any BinaryFloatingPoint.Type: self = .number
        case is String.Type: self = .string
        default: return nil
        }
    }

    init?(_ value: JSONValue) {
        switch value {
        case .null: return nil
        case .bool: self = .boolean
        case .number(let text): self = Int64(text) == nil ? .number : .integer
        case .string: self = .string
        case .array: self = .array
        case .object: self = .object
        }
    }

    func admits(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.boolean, .bool), (.number, .number), (.string, .string), (.array, .array),
            (.object, .object):
            true
        case (.integer, .number(let text)): Int64(text) != nil || UInt64(text) != nil
        case (_, .null), (_, .bool), (_, .number), (_, .string), (_, .array), (_, .object): false
        }
    }
}

/// An associated value of a state, as it stands in `data`.
package struct StateField: Hashable, Sendable {
    /// What the compiler's `Codable` conformance calls it: the label, or `_0`, `_1` … without one.
    let key: String
    package let type: JSONFieldType
    /// All it can be, if that is a closed list; else empty.
    package let values: [JSONValue]
    package let isOptional: Bool

    /// Its name in `data`.
    package var name: String { Self.name(ofKey: self.key) }

    static func name(ofKey key: String) -> String {
        guard key.first == "_", let index = Int(key.dropFirst()) else { return key }
        return index == 0 ? "value" : "value\(index + 1)"
    }

    /// What a field of that name is called if it has no label; nil if it must have one.
    static func unlabelledKey(ofName name: String) -> String? {
        guard name.hasPrefix("value") else { return nil }
        if name == "value" { return "_0" }
        guard let number = Int(name.dropFirst(5)), number > 1 else { return nil }
        return "_\(number - 1)"
    }

    /// What is wrong with `value` for this field; nil if nothing is.
    func objection(to value: JSONValue) -> String? {
        if value == .null && self.isOptional { return nil }
        guard self.values.isEmpty else {
            return self.values.contains(value) ? nil : "must be one of \(self.values.listed)"
        }
        guard !self.type.admits(value) else { return nil }
        return "must be of type \(self.type.rawValue), not \(value.kind)"
    }
}

extension [JSONValue] {
    /// The values as JSON, with commas between.
    package var listed: String {
        self.map { value in
            var bytes: [UInt8] = []
            bytes.append(json: value)
            return String(decoding: bytes, as: UTF8.self)
        }
        .joined(separator: ", ")
    }
}

/// The states that a machine can hold, read off the type once: their names, fields and successors.
///
/// Fields are found by letting each case decode itself and noting what it asks for. A field whose
/// type takes only some values and does not list them (`CaseIterable`) ends the search in its case:
/// the fields after it are not known, and what is given for them is judged when it is decoded.
package struct StateSchema: Sendable {
    /// One case of the enum.
    package struct Case: Hashable, Sendable {
        package let name: String
        package let fields: [StateField]
        /// What may follow it with some data; strings and numbers were taken as empty and zero.
        package let successors: [String]
        /// Whether `fields` are all that there are.
        let isComplete: Bool

        package func field(_ name: String) -> StateField? {
            self.fields.first { $0.name == name }
        }
    }

    package let cases: [Case]

    package init<State: MachineState>(of type: State.Type) {
        self.cases = State.Name.allCases.map { name in
            let probes = StateProbe.probe(name.rawValue, of: State.self)
            let isComplete = !probes.samples.isEmpty
            // Of a case that cannot be made up nothing can be ruled out.
            let successors =
                isComplete
                ? probes.samples.reduce(into: Set<State.Name>()) { $0.formUnion($1.successors) }
                : Set(State.Name.allCases)
            return Case(
                name: name.rawValue,
                fields: probes.fields,
                successors: State.Name.allCases.filter(successors.contains).map(\.rawValue),
                isComplete: isComplete
            )
        }
    }

    package var names: [String] { self.cases.map(\.name) }

    /// The case of that name.
    package func `case`(_ name: String) throws(WireError) -> Case {
        if let found = self.cases.first(where: { $0.name == name }) { return found }
        throw WireError(
            .unknownState,
            "there is no state \(name.quoted); known: \(self.names.joined(separator: ", "))",
            known: self.names
        )
    }

    /// Refuses a pattern that no state can ever match.
    package func check(_ pattern: Pattern) throws(WireError) {
        let found = try self.case(pattern.state)
        for member in pattern.data { try found.check(member) }
    }
}

extension StateSchema.Case {
    /// The field that `member` fills, if it can; nil if only decoding can tell.
    @discardableResult
    func check(_ member: JSONMember) throws(WireError) -> StateField? {
        guard let field = self.field(member.key) else {
            guard self.isComplete else { return nil }
            throw self.noField(member.key, known: self.fields.map(\.name))
        }
        if let objection = field.objection(to: member.value) {
            throw WireError(
                .badData,
                "\(member.key) of \(self.name) \(objection)",
                known: field.values.compactMap(\.string)
            )
        }
        return field
    }

    func noField(_ name: String, known: [String]) -> WireError {
        WireError(
            .badData,
            known.isEmpty
                ? "\(self.name) has no field \(name.quoted); it has none"
                : "\(self.name) has no field \(name.quoted); "
                    + "known: \(known.joined(separator: ", "))",
            known: known
        )
    }
}

extension String {
    /// In quotes for a message, cut to a length that a message bears.
    package var quoted: String { "\"\(self.excerpt())\"" }

    /// Its first scalars; not characters, for a character may be as long as the line.
    func excerpt(_ count: Int = 64) -> String {
        let start = self.unicodeScalars.prefix(count)
        return start.endIndex == self.endIndex ? self : "\(String(start))…"
    }
}
