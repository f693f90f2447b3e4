/// States as people write them.
package enum StateText {
    /// The name, and the data in parentheses; a single value without a label is shown without one.
    package static func text(name: String, data: JSONValue) -> String {
        guard let members = data.members, !members.isEmpty else { return name }
        let fields = members.map { member in
            let value = Self.text(of: member.value)
            return members.count == 1 && member.key == "value" ? value : "\(member.key): \(value)"
        }
        return "\(name)(\(fields.joined(separator: ", ")))"
    }

    /// A word is unquoted where it cannot be mistaken for another value; everything else is JSON.
    private static func text(of value: JSONValue) -> String {
        if case .string(let string) = value, !string.isEmpty,
            string.utf8.allSatisfy({ $0.isLetterOrDigit || "-_.".utf8.contains($0) }),
            JSONValue(parsing: string) == nil
        {
            return string
        }
        return [value].listed
    }
}

/// States that patterns may mean by one name.
package struct StateGroup: Hashable, Sendable {
    /// A field that all of the states have, of one type.
    private struct Shared: Hashable {
        /// As the first state has it.
        let field: StateField
        /// Each distinct variant of it: every state defines its own possible values.
        let ways: Set<StateField>
    }

    package let name: String
    /// The names of its states, at least one.
    package let members: [String]
    private let fields: [Shared]
    /// Including former names, for old changes; shared by all patterns that name the group.
    private let spellings: Set<Spelling>
    let names: [String]

    /// - Parameters:
    ///   - name: not the name of a state.
    ///   - cases: its states.
    package init(_ name: String, of cases: [StateSchema.Case]) {
        self.name = name
        self.members = cases.map(\.name)
        self.names = cases.flatMap { [$0.name] + $0.oldNames }
        self.spellings = Set(self.names.map { Spelling($0) })
        self.fields = (cases.first?.fields ?? []).compactMap { field in
            let ways = cases.compactMap { $0.field(field.name) }.filter { $0.type == field.type }
            return ways.count == cases.count ? Shared(field: field, ways: Set(ways)) : nil
        }
    }

    /// Whether the state of that name is in it.
    func has(_ state: String) -> Bool { self.spellings.contains(Spelling(state)) }

    /// The pattern with its words interpreted by the fields' types, and selecting this group's
    /// states.
    ///
    /// - Throws: `bad-data` if a field is not shared, or its value possible in none of the states.
    func resolved(_ pattern: Pattern) throws(WireError) -> Pattern {
        let resolved = try pattern.typed(by: self.fields.map(\.field), of: self)
        for member in resolved.data { try self.check(member) }
        return resolved
    }

    private func check(_ member: JSONMember) throws(WireError) {
        guard let shared = self.fields.first(where: { $0.field.name.isSpelled(member.key) }) else {
            let known = self.fields.map(\.field.name)
            throw WireError(
                .badData,
                "the states of \(self.name) do not all have a field \(member.key.quoted) of one type; "
                    + (known.isEmpty
                        ? "they share no field" : "they share \(known.joined(separator: ", "))"),
                known: known
            )
        }
        guard let objection = shared.field.objection(to: member.value),
            shared.ways.allSatisfy({ $0.objection(to: member.value) != nil })
        else { return }
        throw WireError(
            .badData,
            "\(member.key) of \(self.name) \(objection)",
            values: shared.field.values
        )
    }
}
