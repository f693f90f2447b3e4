package import StateMachineProtocol

extension Declaration {
    /// A recorded state, carried over into this declaration.
    ///
    /// The state is the one of the same name, else the one with that old name; its fields are taken
    /// by name, then by an old name, then by default. A value that no longer fits throws, and no
    /// default takes its place. `owner` is what sentences call the state.
    package func carried(
        _ name: String,
        data: [JSONMember],
        of owner: String = "the present state"
    ) throws(NotCarriedOver) -> DeclaredState {
        guard let number = self.number(ofOldState: name) else {
            throw NotCarriedOver(
                sentence:
                    "there is no state \(name.quoted) any more; write \"was: \(name.excerpt())\" into the one that it "
                    + "has become",
                hasState: false
            )
        }
        let state = self.states[number]
        let values = try state.fields.map { (field) throws(NotCarriedOver) -> JSONValue? in
            guard let member = data.member(for: field), member.value != .null else {
                if let fallback = field.fallback { return fallback }
                guard !field.isOptional else { return nil }
                throw NotCarriedOver(
                    sentence:
                        "\(state.name.quoted) needs \(field.name.quoted), which \(owner) does not "
                        + "have; give it a default, or an old name with was",
                    hasState: true
                )
            }
            if let objection = field.objection(to: member.value) {
                throw NotCarriedOver(
                    sentence: "\(owner) does not fit \(state.name.quoted): "
                        + objection.sentence(about: member.key, member.value),
                    hasState: true
                )
            }
            return field.kept(member.value)
        }
        return DeclaredState(self, number, values)
    }

    private func number(ofOldState name: String) -> Int? {
        self.stateNumber(name) ?? self.states.firstIndex { $0.oldNames.contains(name) }
    }
}

extension [JSONMember] {
    /// The member with the field's name, else with one of its old names.
    fileprivate func member(for field: DeclaredField) -> JSONMember? {
        for name in [field.name] + field.oldNames {
            if let member = self.first(where: { $0.key.isSpelled(name) }) { return member }
        }
        return nil
    }
}
