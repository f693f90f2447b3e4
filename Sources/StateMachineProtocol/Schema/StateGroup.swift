/// States that patterns may mean by one name.
package struct StateGroup: Hashable, Sendable {
    /// A field that all of the states have, of one type.
    private struct Shared: Hashable {
        /// As the first state has it.
        let field: Field
        /// Each distinct variant of it: every state defines its own possible values.
        let ways: Set<Field>
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
    package init(_ name: String, of cases: [StateShape]) {
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
    /// With `isOld` it may date from when the fields had other names.
    ///
    /// - Throws: `bad-data` if a field is not shared, or its value possible in none of the states.
    func resolved(_ pattern: Pattern, isOld: Bool = false) throws(WireError) -> Pattern {
        let fields = self.fields.map(\.field)
        let pattern = isOld ? pattern.renamed(to: self.name, with: fields) : pattern
        let resolved = try pattern.typed(by: fields, of: self)
        for member in resolved.data { try self.check(member) }
        for comparison in resolved.comparisonTexts {
            let shared = try self.known(comparison.name)
            guard let objection = shared.field.objection(to: comparison),
                shared.ways.allSatisfy({ $0.objection(to: comparison) != nil })
            else { continue }
            throw objection
        }
        return resolved.comparingInstants(of: fields)
    }

    private func known(_ name: String) throws(WireError) -> Shared {
        guard let shared = self.fields.first(where: { $0.field.name.isSpelled(name) }) else {
            let known = self.fields.map(\.field.name)
            throw WireError(
                .badData,
                "the states of \(self.name) do not all have a field \(name.quoted) of one type; "
                    + (known.isEmpty
                        ? "they share no field" : "they share \(known.joined(separator: ", "))"),
                known: known
            )
        }
        return shared
    }

    private func check(_ member: JSONMember) throws(WireError) {
        let shared = try self.known(member.key)
        guard let misfit = shared.field.misfit(ofKind: member.value),
            shared.ways.allSatisfy({ $0.misfit(ofKind: member.value) != nil })
        else { return }
        throw WireError(
            .badData,
            "\(member.key) of \(self.name) \(misfit.requirement)",
            values: shared.field.values
        )
    }
}
