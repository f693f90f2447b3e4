import StateMachineProtocol

/// Finds the sources of the fields of a target's state; reports what is missing or misfits.
struct TargetResolver {
    let tables: DraftTables
    let problems: Problems
    /// What conditions and steps name.
    let names: ConditionResolver
    private let resolved: ResolvedTargets

    init(_ tables: DraftTables, _ problems: Problems) {
        self.tables = tables
        self.problems = problems
        self.resolved = ResolvedTargets(tables.states)
        self.names = ConditionResolver(tables, problems, sameFields: self.resolved.sameFields)
    }

    /// Where a target leads, and where its fields come from.
    ///
    /// - Parameters:
    ///   - draft: the target.
    ///   - left: the number of the state that is left, if there is one.
    ///   - event: the number of the event, if there is one.
    ///   - isLast: whether no case behind it is taken if its values do not fit.
    ///   - isReaction: whether it stands under "when".
    /// - Returns: nil, after reporting it, if something is wrong with it.
    func target(
        _ draft: TargetDraft,
        left: Int? = nil,
        event: Int? = nil,
        isLast: Bool = true,
        isReaction: Bool = false
    ) -> DeclaredTarget? {
        // Errors name the state that is left: once there are errors, each target is resolved anew.
        guard !self.problems.hasErrors else {
            return self.newTarget(draft, left, event, isLast, isReaction)
        }
        let key = self.resolved.key(draft, left, event, isLast)
        if let known = self.resolved.targets[key] { return known }
        let target = self.newTarget(draft, left, event, isLast, isReaction)
        if !self.problems.hasErrors { self.resolved.targets[key] = target }
        return target
    }

    private func newTarget(
        _ draft: TargetDraft,
        _ left: Int?,
        _ event: Int?,
        _ isLast: Bool,
        _ isReaction: Bool
    ) -> DeclaredTarget? {
        guard let number = self.tables.state(draft.state, self.problems) else { return nil }
        let state = self.tables.states[number]
        var given: [Spelling: Assignment] = [:]
        var written: [String] = []
        for literal in draft.data {
            let assignment = Assignment(literal, in: state)
            written.append(assignment.written)
            guard state.fields.contains(where: { $0.name.isSpelled(assignment.field) }) else {
                self.refuseField(assignment.field, literal.field.position, of: state)
                continue
            }
            if given.updateValue(assignment, forKey: Spelling(assignment.field)) != nil {
                self.problems.error(
                    literal.field.position,
                    "\(assignment.field.quoted) is given twice; keep one"
                )
            }
        }
        var (isDoubtful, riskyStep) = (false, String?.none)
        let sources = state.fields.map { field -> [DeclaredTarget.Source] in
            switch given[Spelling(field.name)] {
            case let assignment? where assignment.isStep:
                isDoubtful = true
                guard let step = self.step(assignment, of: field, draft.position, left, event)
                else { return [] }
                if step.isRisky { riskyStep = riskyStep ?? assignment.written }
                return [step.source]
            case let assignment? where assignment.isRemaining(of: field):
                isDoubtful = true
                let from = isReaction ? left : nil
                let source = self.remaining(assignment, of: field, draft.position, from, event)
                if isLast, source == .remaining { self.warnOfLimits(assignment, field, draft) }
                return source.map { [$0] } ?? []
            case let assignment?:
                if let name = assignment.value.fieldName, field.type != .string {
                    return self.problems.refuse(
                        draft.position,
                        name == "remaining"
                            ? "\(assignment.written): {remaining} is a time, and \(field.name) is \(field.typeName)"
                            : "\(assignment.written): a target has no {\(name)}; what an event or the state that is left "
                                + "has goes to the field of the same name"
                    ) ?? []
                }
                if field.type == .boolean { self.problems.booleans.note(assignment.value) }
                return field.value(of: assignment.value, self.problems).map { [.literal($0)] } ?? []
            case nil:
                guard draft.isWhole else { return [] }
                let chain = self.chain(field, of: state, at: draft.position, left, event, isLast)
                if !chain.fits { isDoubtful = true }
                return chain.sources
            }
        }
        return DeclaredTarget(
            state: number,
            sources: sources,
            written: written,
            isDoubtful: isDoubtful,
            riskyStep: riskyStep
        )
    }

    /// Warns that what is left of a time need not fit.
    private func warnOfLimits(_ assignment: Assignment, _ field: Field, _ draft: TargetDraft) {
        guard field.isNarrowed else { return }
        self.problems.warn(
            draft.position,
            "\(assignment.written): what is left may be anything from 10ms on, and \(field.name) is \(field.takes); "
                + "give the field no limits, or add a case behind this one"
        )
    }

    private func refuseField(_ name: String, _ position: FilePosition, of state: StateDraft) {
        guard !self.problems.isUnread(field: name) else { return }
        let known = state.fields.map(\.name)
        self.problems.error(
            position,
            "\(state.name.value.quoted) has no field \(name.quoted)"
                + (known.isEmpty
                    ? "; it has none" : self.problems.suggestion(for: name, among: known))
        )
    }

    /// What is left of the left state's own next time; nil, after reporting it, if it has none.
    private func remaining(
        _ assignment: Assignment,
        of field: Field,
        _ position: FilePosition,
        _ left: Int?,
        _ event: Int?
    ) -> DeclaredTarget.Source? {
        guard let left else {
            return self.problems.refuse(
                position,
                "{remaining} is what is left of a state's time when something happens, so it may stand only under \"when\""
            )
        }
        let state = self.tables.states[left]
        let isField = { (field: Field) in field.name == "remaining" }
        let given = event.map { self.tables.events[$0].fields } ?? []
        if state.fields.contains(where: isField) || given.contains(where: isField) {
            self.problems.warn(
                position,
                "{remaining} is the field here, and not what is left of the state's time; rename the field if that is meant"
            )
            guard let found = self.names.field("remaining", position, left, event) else {
                return nil
            }
            guard field.hasType(of: found.field) else {
                return self.problems.refuse(
                    position,
                    "\(assignment.written): remaining is \(found.field.typeName), and \(field.name) is \(field.typeName)"
                )
            }
            return found.source
        }
        guard !state.after.isEmpty else {
            return self.problems.refuse(
                position,
                "\(assignment.written): \(state.name.value.quoted) has no \"after\" of its own, of which something could be left"
            )
        }
        return .remaining
    }

    /// What is added to a field, or taken from it; nil, after reporting it, if nothing can be.
    private func step(
        _ assignment: Assignment,
        of field: Field,
        _ position: FilePosition,
        _ left: Int?,
        _ event: Int?
    ) -> (source: DeclaredTarget.Source, isRisky: Bool)? {
        let written = assignment.written
        guard let left else {
            return self.problems.refuse(
                position,
                "\(written): no state is left here whose field could be counted; write a value"
            )
        }
        let state = self.tables.states[left]
        let index = state.fields.firstIndex { $0.name.isSpelled(field.name) }
        guard let index, field.type.isNumeric, field.hasType(of: state.fields[index]) else {
            return self.problems.refuse(
                position,
                !field.type.isNumeric
                    ? "\(written): \(field.name) is \(field.typeName), not a number"
                    : index == nil
                        ? "\(written) counts from the field of \(state.name.value.quoted), which has none of that name; write a value"
                        : "\(written): \(field.name) is \(state.fields[index ?? 0].typeName) in \(state.name.value.quoted)"
            )
        }
        let amount: DeclaredTarget.Source
        var (mayRise, mayFall) = (true, true)
        let counted = state.fields[index]
        // What is absent cannot be counted, and what the left state may have need not fit here.
        var isRisky = counted.isOptional || !field.admitsAll(of: counted)
        if let name = assignment.value.fieldName {
            guard let found = self.names.field(name, position, left, event) else { return nil }
            guard field.hasType(of: found.field), found.field.type.isNumeric else {
                return self.problems.refuse(
                    position,
                    "\(written): \(name) is \(found.field.typeName), and \(field.name) is \(field.typeName)"
                )
            }
            amount = found.source
            isRisky = isRisky || found.field.isOptional
        } else {
            guard let text = assignment.value.text else {
                return self.problems.refuse(
                    position,
                    "\(written): an amount must be a number, or a field like \"{tries}\", not \(assignment.value.kind)"
                )
            }
            let value: JSONValue
            do {
                value = try Field(field.name, type: field.type).value(ofText: text)
            } catch {
                return self.problems.refuse(position, "\(written): \(error.sentence)")
            }
            amount = .literal(value)
            let isNegative = value.plainText.utf8.first == UInt8(ascii: "-")
            mayRise = isNegative == assignment.isDown
            mayFall = !mayRise
        }
        isRisky =
            isRisky || !field.values.isEmpty || mayRise && field.bounds.most != nil
            || mayFall && field.bounds.least != nil
        return (.step(index, amount, isDown: assignment.isDown), isRisky)
    }

    /// The target of a new stay in the same state.
    func again(
        _ number: Int,
        at position: FilePosition,
        event: Int?,
        isLast: Bool
    ) -> DeclaredTarget {
        let state = self.tables.states[number]
        let chains = state.fields.map {
            self.chain($0, of: state, at: position, number, event, isLast)
        }
        return DeclaredTarget(
            state: number,
            sources: chains.map(\.sources),
            written: [],
            isDoubtful: chains.contains { !$0.fits },
            riskyStep: nil
        )
    }

    /// The sources of a field that the target does not name, up to the first certain one, and whether their values
    /// always fit.
    private func chain(
        _ field: Field,
        of state: StateDraft,
        at position: FilePosition,
        _ left: Int?,
        _ event: Int?,
        _ isLast: Bool
    ) -> (sources: [DeclaredTarget.Source], fits: Bool) {
        var chain: [DeclaredTarget.Source] = []
        var fits = true
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
            if !field.admitsAll(of: source) { fits = false }
            if !field.hasType(of: source) {
                self.problems.error(
                    position,
                    "\(name) is \(field.typeName) in \(own) and \(source.typeName) in \(from); "
                        + "rename one, or write \(field.name)=…"
                )
            } else if !isLast {
                // The next case is taken.
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
        if let event, take(event.fields, of: event.name, isEvent: true) { return (chain, fits) }
        if let left, take(left.fields, of: left.name, isEvent: false) { return (chain, fits) }
        if let fallback = field.fallback {
            chain.append(.fallback(fallback))
        } else if !field.isOptional, !self.problems.isUnread(field: field.name) {
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
        return (chain, fits)
    }
}

/// A value that a target gives a field, or a step.
private struct Assignment {
    let field: String
    let value: YAMLNode
    let isStep: Bool
    let isDown: Bool
    /// As the file has it.
    let written: String
    private let isWord: Bool

    /// Whether it is `{remaining}`: what is left of a time, for a field that is one.
    func isRemaining(of field: Field) -> Bool {
        self.isWord && field.type == .time && self.value.fieldName == "remaining"
    }

    /// `a f-=1` is a step, unless the state has a field `f-`.
    init(_ literal: TargetDraft.Literal, in state: StateDraft) {
        let name = literal.field.value
        let isField = { (name: String) in state.fields.contains { $0.name.isSpelled(name) } }
        let step = literal.kind == .word ? FieldStep(name, isField: isField) : nil
        self.isStep = step != nil || literal.kind == .amount
        self.isDown = step?.isDown ?? false
        self.field = step?.field ?? name
        self.value = literal.value
        self.isWord = literal.kind == .word
        let text = literal.value.text?.excerpt() ?? "…"
        self.written = literal.kind == .amount ? "\(name)+=\(text)" : "\(name)=\(text)"
    }
}

extension YAMLNode {
    /// The name in `{name}`; nil if it is anything else.
    var fieldName: String? { self.text.flatMap(\.fieldName) }
}

extension String {
    /// The name in `{name}`; nil if it is anything else.
    var fieldName: String? {
        guard self.utf8.first == UInt8(ascii: "{"), self.utf8.last == UInt8(ascii: "}"),
            self.utf8.count > 2
        else { return nil }
        return String(self.dropFirst().dropLast())
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
        /// A group's `keep` leads to the state that is left.
        let state: String
        let event: Int?
        let leftFields: Int?
        /// What is left of a time can be given only where there is one.
        let hasTimes: Bool
        let isLast: Bool
    }

    /// For each state the first one that has the same fields.
    let sameFields: [Int]
    private let hasTimes: [Bool]
    var targets: [Key: DeclaredTarget] = [:]

    init(_ states: [StateDraft]) {
        self.hasTimes = states.map { !$0.after.isEmpty }
        var first: [[Field]: Int] = [:]
        self.sameFields = states.enumerated().map { number, state in
            let known = first[state.fields, default: number]
            first[state.fields] = known
            return known
        }
    }

    func key(_ draft: TargetDraft, _ left: Int?, _ event: Int?, _ isLast: Bool) -> Key {
        Key(
            position: draft.position,
            state: draft.state.value,
            event: event,
            leftFields: left.map { self.sameFields[$0] },
            hasTimes: left.map { self.hasTimes[$0] } ?? false,
            isLast: isLast
        )
    }
}
