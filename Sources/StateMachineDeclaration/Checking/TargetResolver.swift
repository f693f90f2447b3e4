import StateMachineProtocol

/// Finds the sources of the fields of a target's state; reports what is missing or misfits.
struct TargetResolver {
    /// What a target can take values from.
    struct Sources {
        /// The number of the state that is left, if there is one.
        var left: Int?
        /// The number of the event, if there is one.
        var event: Int?
    }

    let tables: DraftTables
    let problems: Problems
    let resolved: ResolvedTargets

    func target(_ draft: TargetDraft, from sources: Sources) -> DeclaredTarget? {
        // Errors name the state that is left: once there are errors, each target is resolved anew.
        guard !self.problems.hasErrors else { return self.newTarget(draft, from: sources) }
        if let known = self.resolved[draft.position, sources] { return known }
        let target = self.newTarget(draft, from: sources)
        if !self.problems.hasErrors { self.resolved[draft.position, sources] = target }
        return target
    }

    private func newTarget(_ draft: TargetDraft, from sources: Sources) -> DeclaredTarget? {
        guard let number = self.tables.state(draft.state, self.problems) else { return nil }
        let state = self.tables.states[number]
        for literal in draft.data
        where !self.problems.isDoubtful(field: literal.field.value)
            && !state.fields.contains(where: { $0.name.isSpelled(literal.field.value) })
        {
            let known = state.fields.map(\.name)
            self.problems.error(
                literal.field.position,
                "\(state.name.value.quoted) has no field \(literal.field.value.quoted)"
                    + (known.isEmpty
                        ? "; it has none"
                        : self.problems.suggestion(for: literal.field.value, among: known))
            )
        }
        return DeclaredTarget(
            state: number,
            sources: state.fields.map { field in
                let literal = draft.data.first { $0.field.value.isSpelled(field.name) }
                if let literal {
                    if field.type == .boolean { self.problems.booleans.note(literal.value) }
                    return field.value(of: literal.value, self.problems).map { [.literal($0)] }
                        ?? []
                }
                guard draft.isWhole else { return [] }
                return self.chain(field, of: state, at: draft.position, from: sources)
            }
        )
    }

    /// The target of a new stay in the same state.
    func again(_ number: Int, at position: FilePosition, event: Int?) -> DeclaredTarget {
        let state = self.tables.states[number]
        let sources = Sources(left: number, event: event)
        return DeclaredTarget(
            state: number,
            sources: state.fields.map {
                self.chain($0, of: state, at: position, from: sources)
            }
        )
    }

    /// The sources of a field that the target does not name, up to the first certain one.
    private func chain(
        _ field: DeclaredField,
        of state: StateDraft,
        at position: FilePosition,
        from sources: Sources
    ) -> [DeclaredTarget.Source] {
        var chain: [DeclaredTarget.Source] = []
        let event = sources.event.map { self.tables.events[$0] }
        if let event, let index = event.fields.firstIndex(where: { $0.name == field.name }) {
            let source = event.fields[index]
            self.checkType(of: field, state, source, event.name.value, position)
            self.warnOfRange(of: field, state, source, event)
            chain.append(.event(index))
            if source.isCertain { return chain }
        }
        let left = sources.left.map { self.tables.states[$0] }
        if let left, let index = left.fields.firstIndex(where: { $0.name == field.name }) {
            let source = left.fields[index]
            self.checkType(of: field, state, source, left.name.value, position)
            if event == nil { self.checkRange(of: field, state, source, left, position) }
            chain.append(.left(index))
            if source.isCertain { return chain }
        }
        if let fallback = field.fallback {
            chain.append(.fallback(fallback))
        } else if !field.isOptional, !self.problems.isDoubtful(field: field.name) {
            let lack = Self.lack(left, event, isPartial: !chain.isEmpty)
            let remedy =
                left == nil && event == nil
                ? "\(field.name)=…, or give it a default" : "\(state.name.value) \(field.name)=…"
            self.problems.error(
                position,
                "\(state.name.value.quoted) needs \(field.name.quoted)\(lack); write \(remedy)"
            )
        }
        return chain
    }

    private static func lack(
        _ left: StateDraft?,
        _ event: EventDraft?,
        isPartial: Bool
    ) -> String {
        let leftName = left?.name.value.quoted
        switch (leftName, event) {
        case (nil, nil): return ""
        case (let left?, nil):
            return isPartial
                ? ", which is optional in \(left)" : ", which \(left) does not have"
        case (nil, let event?):
            return isPartial
                ? ", which is optional in \(event.name.value.quoted)"
                : ", which the event does not have"
        case (let left?, _?):
            return isPartial
                ? ", which may be absent from \(left) and from the event"
                : ", which neither \(left) nor the event has"
        }
    }

    private func checkType(
        of field: DeclaredField,
        _ state: StateDraft,
        _ source: DeclaredField,
        _ owner: String,
        _ position: FilePosition
    ) {
        guard !field.hasType(of: source) else { return }
        self.problems.error(
            position,
            "\(field.name.quoted) is \(field.typeName) in \(state.name.value.quoted) and "
                + "\(source.typeName) in \(owner.quoted); rename one, or write \(field.name)=…"
        )
    }

    /// Warns of a value that may not fit: the send is refused and nothing moves; seldom intended.
    private func warnOfRange(
        of field: DeclaredField,
        _ state: StateDraft,
        _ source: DeclaredField,
        _ event: EventDraft
    ) {
        guard field.hasType(of: source), !field.admitsAll(of: source) else { return }
        self.problems.warn(
            event.name.position,
            "\(field.name.quoted) of the event \(event.name.value.quoted) can have values that \(field.name.quoted) of "
                + "\(state.name.value.quoted) does not allow; such a send is refused, and the state stays; "
                + "give both the same limits"
        )
    }

    /// Reports a value that may not fit: nobody is there to be told when the machine moves itself.
    private func checkRange(
        of field: DeclaredField,
        _ state: StateDraft,
        _ source: DeclaredField,
        _ left: StateDraft,
        _ position: FilePosition
    ) {
        guard field.hasType(of: source), !field.admitsAll(of: source) else { return }
        self.problems.error(
            position,
            "\(field.name.quoted) of \(left.name.value.quoted) can have values that \(field.name.quoted) of "
                + "\(state.name.value.quoted) does not allow; give both the same limits, or write \(field.name)=…"
        )
    }
}
