package import StateMachineProtocol

extension Declaration {
    /// A recorded state as one of this declaration: the state of the same name, else the one that was called
    /// so; its fields by name, by an old name, by default.
    ///
    /// A value that no longer fits refuses: no default takes its place. `owner` is what sentences call the state.
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
    /// The member of a field's name, else of one of its old ones.
    fileprivate func member(for field: DeclaredField) -> JSONMember? {
        for name in [field.name] + field.oldNames {
            if let member = self.first(where: { $0.key.isSpelled(name) }) { return member }
        }
        return nil
    }
}
