import StateMachineProtocol

extension Declaration {
    /// The state that a target leads to.
    ///
    /// That its values fit was checked when the file was read.
    func filled(
        _ target: DeclaredTarget,
        from left: DeclaredState?,
        event: [JSONValue?]
    ) -> DeclaredState {
        DeclaredState(self, target.state, self.values(target, from: left, event))
    }

    /// The state that a target leads to, if the values from the event and the left state fit it.
    func evaluated(
        _ target: DeclaredTarget,
        from left: DeclaredState,
        _ event: [JSONValue?]
    ) throws(DeclaredRefusal) -> DeclaredState {
        let values = self.values(target, from: left, event)
        for (field, value) in zip(self.states[target.state].fields, values) {
            guard let value, let objection = field.objection(to: value) else { continue }
            throw .badData(objection.sentence(about: field.name, value), known: field.values)
        }
        return DeclaredState(self, target.state, values)
    }

    private func values(
        _ target: DeclaredTarget,
        from left: DeclaredState?,
        _ event: [JSONValue?]
    ) -> [JSONValue?] {
        target.sources.map { sources in
            for source in sources {
                let value: JSONValue? =
                    switch source {
                    case .literal(let value), .fallback(let value): value
                    case .event(let index): event[index]
                    case .left(let index): left?.value(at: index)
                    }
                if let value { return value }
            }
            return nil
        }
    }
}
