import StateMachineProtocol

/// Finds the fields that conditions and steps name; reports what is none, and what cannot be compared.
struct ConditionResolver {
    let tables: DraftTables
    let problems: Problems
    private let seen: SeenConditions

    /// `sameFields` has for each state the first one with the same fields.
    init(_ tables: DraftTables, _ problems: Problems, sameFields: [Int]) {
        self.tables = tables
        self.problems = problems
        self.seen = SeenConditions(sameFields)
    }

    /// A field that a condition or a step names.
    struct Found {
        let source: DeclaredTarget.Source
        let field: Field
    }

    /// The conditions of a case; nil, after reporting it, if something is wrong with one.
    ///
    /// `left` and `event` are the numbers of the state that is left and of the event, if there is one; where no state is
    /// left, the machine's fields are all that there is.
    func conditions(
        _ texts: [Located<String>],
        left: Int?,
        event: Int?
    ) -> [DeclaredCondition]? {
        guard let first = texts.first else { return [] }
        // Errors name the state that is left.
        let key = self.seen.key(first.position, left, event)
        if !self.problems.hasErrors, let known = self.seen.conditions[key] { return known }
        let conditions = texts.compactMap { self.condition($0, left: left, event: event) }
        guard conditions.count == texts.count else { return nil }
        if !self.problems.hasErrors { self.seen.conditions[key] = conditions }
        return conditions
    }

    private func condition(
        _ text: Located<String>,
        left: Int?,
        event: Int?
    ) -> DeclaredCondition? {
        if LinkCondition.isMeant(by: text.value) {
            return self.tables.linkCondition(text, self.problems).map {
                DeclaredCondition(written: $0.written, test: .isSeen($0), alwaysHolds: false)
            }
        }
        guard let comparison = ComparisonText(text.value) else {
            return self.presence(text, left, event)
        }
        if let hint = comparison.hint {
            return self.problems.refuse(text.position, "\(text.value.excerpt()): \(hint)")
        }
        guard let found = self.field(comparison.name, text.position, left, event),
            let operand = self.operand(of: comparison, found.field, text, left, event)
        else { return nil }
        var result: Bool?
        if case .literal(let literal) = operand {
            result = comparison.comparator.result(for: found.field, literal)
        }
        if let result {
            self.problems.warn(
                text.position,
                "\(text.value.excerpt()) \(result ? "always" : "never") holds: \(found.field.name) is \(found.field.takes)"
            )
        }
        return DeclaredCondition(
            written: text.value,
            test: .compares(
                found.source,
                comparison.comparator,
                operand,
                asInstants: found.field.type == .instant
            ),
            alwaysHolds: result == true
        )
    }

    /// `FIELD` or `!FIELD`.
    private func presence(
        _ text: Located<String>,
        _ left: Int?,
        _ event: Int?
    ) -> DeclaredCondition? {
        let isNegated = text.value.utf8.first == UInt8(ascii: "!")
        let name = isNegated ? String(text.value.dropFirst()).trimmed : text.value
        guard !name.isEmpty else {
            return self.problems.refuse(
                text.position,
                "a condition is missing; write one, like tries<3"
            )
        }
        let meant = name.hasPrefix("not ") ? "!\(name.dropFirst(4))" : name.fieldName
        if let meant {
            return self.problems.refuse(
                text.position,
                "\(text.value.excerpt()): write \(meant.excerpt())"
            )
        }
        guard let found = self.field(name, text.position, left, event) else { return nil }
        guard found.field.type == .boolean || found.field.isOptional else {
            return self.problems.refuse(
                text.position,
                "\(name) is always there, and no boolean; compare it, like \(name)=…"
            )
        }
        return DeclaredCondition(
            written: text.value,
            test: isNegated ? .isNotThere(found.source) : .isThere(found.source),
            alwaysHolds: false
        )
    }

    private func operand(
        of comparison: ComparisonText,
        _ field: Field,
        _ text: Located<String>,
        _ left: Int?,
        _ event: Int?
    ) -> DeclaredTarget.Source? {
        if let objection = field.objection(to: comparison.comparator) {
            return self.problems.refuse(text.position, "\(text.value.excerpt()): \(objection)")
        }
        if let name = comparison.operand.fieldName {
            guard let other = self.field(name, text.position, left, event) else { return nil }
            guard field.hasType(of: other.field) || other.field.hasType(of: field) else {
                return self.problems.refuse(
                    text.position,
                    "\(text.value.excerpt()): \(field.name) is \(field.typeName), and \(name) is \(other.field.typeName)"
                )
            }
            return other.source
        }
        do {
            return .literal(try field.literal(of: comparison))
        } catch {
            return self.problems.refuse(
                text.position,
                "\(error.message)\(comparison.operandHint)"
            )
        }
    }

    /// The field of that name: the event's, else the left state's; `event.x` and `state.x` say whose.
    ///
    /// Nil, after reporting it, if there is none, or one of each.
    func field(_ name: String, _ position: FilePosition, _ left: Int?, _ event: Int?) -> Found? {
        let state = left.map { self.tables.states[$0] }
        let ofLeft = state?.fields ?? self.tables.shared
        let leftName = state?.name.value.quoted ?? "the machine"
        let fields = event.map { self.tables.events[$0].fields } ?? []
        func found(_ name: String, in fields: [Field], isEvent: Bool) -> Found? {
            fields.firstIndex { $0.name.isSpelled(name) }
                .map { Found(source: isEvent ? .event($0) : .left($0), field: fields[$0]) }
        }
        let parts = name.split(at: ".", maxSplits: 1)
        if parts.count == 2, parts[0] != "state", parts[0] != "event" || event == nil {
            return self.problems.refuse(
                position,
                "\(name.excerpt()): write "
                    + (event == nil
                        ? "\(parts[1].excerpt()), as no event is sent here"
                        : "\(parts[1].excerpt()), event.\(parts[1].excerpt()) or state.\(parts[1].excerpt())")
            )
        }
        if parts.count == 2, parts[0] == "event" || parts[0] == "state" {
            let isEvent = parts[0] == "event"
            let own = isEvent ? fields : ofLeft
            if let found = found(parts[1], in: own, isEvent: isEvent) {
                return self.alike(found, position, leftName)
            }
            let owner =
                isEvent
                ? event.map { "the event \(self.tables.events[$0].name.value.quoted)" } : nil
            return self.refuse(
                parts[1],
                position,
                "\(owner ?? leftName) has no",
                own
            )
        }
        let ofEvent = found(name, in: fields, isEvent: true)
        let ofState = found(name, in: ofLeft, isEvent: false)
        if ofEvent != nil, ofState != nil {
            return self.problems.refuse(
                position,
                "the event and \(leftName) have a field \(name.quoted); write event.\(name) or state.\(name)"
            )
        }
        if let found = ofEvent ?? ofState { return self.alike(found, position, leftName) }
        let lack = event == nil ? "\(leftName) has no" : "neither the event nor \(leftName) has a"
        return self.refuse(name, position, lack, fields + ofLeft)
    }

    /// The same; nil, after reporting it, if another state, for which this is written too, has the field with another type.
    private func alike(_ found: Found, _ position: FilePosition, _ owner: String) -> Found? {
        guard case .left = found.source else { return found }
        let field = found.field
        let earlier = self.seen.earlier(field, of: owner, at: position)
        guard let earlier, earlier.field.type != field.type else { return found }
        return self.problems.refuse(
            position,
            "\(field.name) is \(earlier.field.typeName) in \(earlier.owner) and \(field.typeName) in \(owner); rename one"
        )
    }

    private func refuse(
        _ name: String,
        _ position: FilePosition,
        _ lack: String,
        _ known: [Field]
    ) -> Found? {
        guard !self.problems.isUnread(field: name) else { return nil }
        return self.problems.refuse(
            position,
            "\(lack) field \(name.quoted)"
                + self.problems.suggestion(for: name, among: known.map(\.name))
        )
    }
}

/// What was found in one place of the file for one state, and is looked for again for the others of a group.
///
/// A class, as it is filled while conditions are resolved; it is not used outside one reading.
private final class SeenConditions {
    struct Key: Hashable {
        let position: FilePosition
        let event: Int?
        let leftFields: Int?
    }

    struct Name: Hashable {
        let position: FilePosition
        let name: Spelling
    }

    var conditions: [Key: [DeclaredCondition]] = [:]
    private let sameFields: [Int]
    private var fields: [Name: (field: Field, owner: String)] = [:]

    init(_ sameFields: [Int]) {
        self.sameFields = sameFields
    }

    func key(_ position: FilePosition, _ left: Int?, _ event: Int?) -> Key {
        Key(position: position, event: event, leftFields: left.map { self.sameFields[$0] })
    }

    /// The field of that name that was found there first; nil if this is the first one.
    func earlier(
        _ field: Field,
        of owner: String,
        at position: FilePosition
    ) -> (field: Field, owner: String)? {
        let name = Name(position: position, name: Spelling(field.name))
        if let earlier = self.fields[name] { return earlier }
        self.fields[name] = (field, owner)
        return nil
    }
}

extension ComparisonText {
    /// What to write instead, where it is nothing that can be compared.
    fileprivate var hint: String? {
        guard !self.name.isEmpty else {
            return "a field is missing before \(self.comparator.rawValue); write one, like tries<3"
        }
        if let field = self.name.fieldName {
            return
                "write \(field.excerpt())\(self.comparator.rawValue)\(self.operand.excerpt()), without the braces"
        }
        guard self.name.utf8.first == UInt8(ascii: "!") else { return nil }
        let name = String(self.name.dropFirst()).trimmed.excerpt()
        return "write \(name)\(self.comparator.contrary.rawValue)\(self.operand.excerpt())"
    }

    /// What may have been meant by an operand that is no literal.
    fileprivate var operandHint: String {
        let words = self.operand.split(at: " ")
        if self.operand.utf8.first == UInt8(ascii: "=") { return "; one = is enough" }
        if words.contains(where: { ["and", "&&", "&"].contains($0) }) {
            return "; conditions have a comma between them"
        }
        if words.contains(where: { ["or", "||", "|"].contains($0) }) {
            return "; there is no or: write a case for each"
        }
        return ""
    }
}

extension Comparator {
    /// The one that holds where this one does not.
    fileprivate var contrary: Comparator {
        switch self {
        case .equal: .unequal
        case .unequal: .equal
        case .less: .atLeast
        case .atMost: .greater
        case .greater: .atMost
        case .atLeast: .less
        }
    }

    /// What it comes to for every value that the field can have; nil if that depends.
    fileprivate func result(for field: Field, _ literal: JSONValue) -> Bool? {
        let values = field.type == .boolean ? [.bool(false), .bool(true)] : field.values
        let results: Set<Bool>
        if !values.isEmpty {
            results = Set(values.map { self.holds($0, literal) })
        } else if field.type.isNumeric || field.type == .time, let least = field.bounds.least,
            let most = field.bounds.most
        {
            // Between the ends a comparison for equality may come out otherwise.
            let ends = [least, most].map { self.holds(.number("\($0)"), literal) }
            let isInside =
                Comparator.atLeast.holds(literal, .number("\(least)"))
                && Comparator.atMost.holds(literal, .number("\(most)"))
            results = Set(ends + (isInside ? [self.holds(literal, literal)] : []))
        } else {
            return nil
        }
        guard results.count == 1, let result = results.first else { return nil }
        // Where the field is absent it does not hold.
        return result && field.isOptional ? nil : result
    }
}
