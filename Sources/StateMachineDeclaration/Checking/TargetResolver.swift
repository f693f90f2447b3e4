import StateMachineProtocol

/// Finds the sources of the fields of a target's state; reports what is missing or misfits.
struct TargetResolver {
    let tables: DraftTables
    let problems: Problems
    private let resolved: ResolvedTargets

    init(_ tables: DraftTables, _ problems: Problems) {
        self.tables = tables
        self.problems = problems
        self.resolved = ResolvedTargets(tables.states)
    }

    /// Where a target leads, and where its fields come from.
    ///
    /// `left` and `event` are the numbers of the state that is left and of the event, if there are any.
    func target(_ draft: TargetDraft, left: Int? = nil, event: Int? = nil) -> DeclaredTarget? {
        // Errors name the state that is left: once there are errors, each target is resolved anew.
        guard !self.problems.hasErrors else { return self.newTarget(draft, left, event) }
        let key = self.resolved.key(draft.position, left, event)
        if let known = self.resolved.targets[key] { return known }
        let target = self.newTarget(draft, left, event)
        if !self.problems.hasErrors { self.resolved.targets[key] = target }
        return target
    }

    private func newTarget(_ draft: TargetDraft, _ left: Int?, _ event: Int?) -> DeclaredTarget? {
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
                return self.chain(field, of: state, at: draft.position, left, event)
            }
        )
    }

    /// The target of a new stay in the same state.
    func again(_ number: Int, at position: FilePosition, event: Int?) -> DeclaredTarget {
        let state = self.tables.states[number]
        return DeclaredTarget(
            state: number,
            sources: state.fields.map { self.chain($0, of: state, at: position, number, event) }
        )
    }

    /// The sources of a field that the target does not name, up to the first certain one.
    private func chain(
        _ field: Field,
        of state: StateDraft,
        at position: FilePosition,
        _ left: Int?,
        _ event: Int?
    ) -> [DeclaredTarget.Source] {
        var chain: [DeclaredTarget.Source] = []
        let event = event.map { self.tables.events[$0] }
        let left = left.map { self.tables.states[$0] }
        var own: String { state.name.value.quoted }
        var name: String { field.name.quoted }
        /// Takes the value from there, if it has such a field; returns whether that always has one.
        func take(_ fields: [Field], of owner: Located<String>, isEvent: Bool) -> Bool {
            guard let index = fields.firstIndex(where: { $0.name == field.name }) else {
                return false
            }
            let (source, from) = (fields[index], owner.value.quoted)
            if !field.hasType(of: source) {
                self.problems.error(
                    position,
                    "\(name) is \(field.typeName) in \(own) and \(source.typeName) in \(from); "
                        + "rename one, or write \(field.name)=…"
                )
            } else if isEvent, !field.admitsAll(of: source) {
                // The send is refused and nothing moves; seldom intended.
                self.problems.warn(
                    owner.position,
                    "\(name) of the event \(from) can have values that \(name) of \(own) does not allow; "
                        + "such a send is refused, and the state stays; give both the same limits"
                )
            } else if event == nil, !field.admitsAll(of: source) {
                // Nobody is there to be told when the machine moves itself.
                self.problems.error(
                    position,
                    "\(name) of \(from) can have values that \(name) of \(own) does not allow; "
                        + "give both the same limits, or write \(field.name)=…"
                )
            }
            chain.append(isEvent ? .event(index) : .left(index))
            return !source.isOptional
        }
        if let event, take(event.fields, of: event.name, isEvent: true) { return chain }
        if let left, take(left.fields, of: left.name, isEvent: false) { return chain }
        if let fallback = field.fallback {
            chain.append(.fallback(fallback))
        } else if !field.isOptional, !self.problems.isDoubtful(field: field.name) {
            let lack =
                switch (left?.name.value.quoted, event?.name.value.quoted, chain.isEmpty) {
                case (nil, nil, _): ""
                case (let left?, nil, true): ", which \(left) does not have"
                case (nil, _?, true): ", which the event does not have"
                case (let owner?, nil, false), (nil, let owner?, false):
                    ", which is optional in \(owner)"
                case (let left?, _?, true): ", which neither \(left) nor the event has"
                case (let left?, _?, false): ", which may be absent from \(left) and from the event"
                }
            let remedy =
                left == nil && event == nil
                ? "\(field.name)=…, or give it a default" : "\(state.name.value) \(field.name)=…"
            self.problems.error(position, "\(own) needs \(name)\(lack); write \(remedy)")
        }
        return chain
    }
}

/// Resolved targets, shared by the states of a group.
///
/// Where a target's fields come from depends on the fields of the state that is left, and most
/// states of a group have the same fields. A class, as it is filled while targets are resolved; it
/// is not used outside one reading.
private final class ResolvedTargets {
    struct Key: Hashable {
        let position: FilePosition
        let event: Int?
        let leftFields: Int?
    }

    /// For each state the first one that has the same fields.
    private let sameFields: [Int]
    var targets: [Key: DeclaredTarget] = [:]

    init(_ states: [StateDraft]) {
        var first: [[Field]: Int] = [:]
        self.sameFields = states.enumerated().map { number, state in
            let known = first[state.fields, default: number]
            first[state.fields] = known
            return known
        }
    }

    func key(_ position: FilePosition, _ left: Int?, _ event: Int?) -> Key {
        Key(position: position, event: event, leftFields: left.map { self.sameFields[$0] })
    }
}
