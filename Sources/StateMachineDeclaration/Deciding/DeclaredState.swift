package import StateMachineCore
package import StateMachineProtocol

/// A state of a declared machine: which one, and the values of its fields.
///
/// States of different declarations are never equal.
package struct DeclaredState: MachineState, Hashable {
    /// The declaration that it is a state of.
    package let declaration: Declaration
    /// The number of the state there.
    package let number: Int
    /// The values of all fields, in the order of the declaration; nil for those that are absent.
    package let values: [JSONValue?]

    /// A state with values that have been evaluated: one for each field.
    init(_ declaration: Declaration, _ number: Int, _ values: [JSONValue?]) {
        self.declaration = declaration
        self.number = number
        // Numbers may be spelled in several ways; they are kept in one.
        self.values = zip(declaration.states[number].fields, values).map { field, value in
            value.map { field.kept($0) }
        }
    }

    /// Its declared state.
    package var declared: DeclaredCase { self.declaration.states[self.number] }

    /// The value of the field of that name; nil if there is none.
    package subscript(_ name: String) -> JSONValue? {
        self.declared.fields.firstIndex { $0.name.isSpelled(name) }.flatMap { self.values[$0] }
    }

    package var name: CaseName<Self> { CaseName(rawValue: self.declared.name) }

    /// Those that a client may set from here; what the machine does by itself may lead elsewhere.
    package var successors: Set<CaseName<Self>> {
        Set(self.declared.successors.map { CaseName(rawValue: self.declaration.states[$0].name) })
    }

    /// By number: no name is looked up.
    ///
    /// Never true of a state of another declaration.
    package func mayBecome(_ next: Self) -> Bool {
        next.declaration === self.declaration && self.declared.successors.contains(next.number)
    }

    /// Whether the values are the same, however they are spelled.
    package static func == (left: Self, right: Self) -> Bool {
        left.number == right.number && left.declaration === right.declaration
            && zip(left.values, right.values).allSatisfy { own, other in
                switch (own, other) {
                case (nil, nil): true
                case (let own?, let other?): own.equals(other)
                case (nil, _?), (_?, nil): false
                }
            }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.number)
        for value in self.values {
            hasher.combine(value == nil)
            value?.hashValue(into: &hasher)
        }
    }
}

extension DeclaredState {
    /// The fields as they stand in `data`: in the order of the declaration, without those that are absent.
    package var data: JSONValue {
        .object(
            zip(self.declared.fields, self.values).compactMap { field, value in
                value.map { JSONMember(field.name, $0) }
            }
        )
    }

    /// The state as it is written after `statectl set`: `playing title="a b" volume=40`.
    package var written: String {
        let words = zip(self.declared.fields, self.values).compactMap { field, value in
            value.map { value -> String in
                let text = value.plainText
                let isWord = !text.isEmpty && !text.utf8.contains { $0 <= 0x20 || $0 == 0x22 }
                return "\(field.name)=\(isWord ? text : [JSONValue.string(text)].listed)"
            }
        }
        return ([self.declared.name] + words).joined(separator: " ")
    }
}

// What a machine does in the state. Pure: the same answer every time, without clocks and without
// effects.
extension DeclaredState {
    /// Why another state may not be set from it; nil if it may.
    package func legality(of next: DeclaredState) -> WireError? {
        guard !self.mayBecome(next) else { return nil }
        return .illegalTransition(
            next.declared.name,
            from: self.declared.name,
            allowed: self.declared.successors.map { self.declaration.states[$0].name }
        )
    }

    /// What an event does in it.
    ///
    /// - Throws: `unknown-event`, or `bad-data` if the data
    ///   does not fit the event, or the state that it leads to.
    package func reaction(to event: String, data: [JSONMember]) throws(WireError) -> Reaction {
        let number = try self.declaration.number(ofEvent: event)
        let values = try self.declaration.events[number].fields.values(of: data, owner: event)
        switch self.declared.reactions[number] {
        case .enter(let target), .again(let target):
            let next = try self.declaration.evaluated(target, from: self, values)
            return .enter(TypedValue(next))
        case .stay: return .stay
        case .ignore: return .ignore
        case nil: return .unhandled
        }
    }

    /// The state with some fields changed: a given value replaces, null removes an optional field,
    /// an amount is added.
    package func updated(
        with data: [JSONMember],
        adding amounts: [JSONMember] = []
    ) throws(WireError) -> DeclaredState {
        let state = self.declared
        var values = self.values
        for member in data {
            let index = try state.fields.index(of: member.key, owner: state.name)
            let field = state.fields[index]
            if member.value != .null {
                values[index] = try field.evaluated(member.value)
            } else if field.isOptional {
                values[index] = nil
            } else {
                throw .badData(
                    "\(field.name)=null: \(state.name.quoted) needs it; only an optional field can be removed"
                )
            }
        }
        for member in amounts {
            let index = try state.fields.index(of: member.key, owner: state.name)
            let field = state.fields[index]
            values[index] = try field.evaluated(
                field.sum(of: self.values[index], and: member.value)
            )
        }
        return DeclaredState(self.declaration, self.number, values)
    }

    /// When `after` moves it, counted from the stay's start, and where; nil if never.
    package var deadline: Deadline? {
        self.declared.after.map { after in
            Deadline(delay: after.delay, self.move(after.target, .after(after.delay)))
        }
    }

    /// The move at the first start in a new boot; nil if the state goes on.
    package var boot: MachineMove? { self.declared.boot.map { self.move($0, .boot) } }

    /// The move that follows the end of a run that is not retried; nil if the stay goes on.
    ///
    /// An interruption after which the command is to be run again leads where a failure does:
    /// whoever runs the command has to run it again first.
    package func move(on end: RunEnd) -> MachineMove? {
        guard let run = self.declared.run else { return nil }
        let failed = run.failed.map { self.move($0, .failed) }
        return switch end {
        case .exit(0): run.done.map { self.move($0, .done) }
        case .exit(let code): run.exits[code].map { self.move($0, .exit(code)) } ?? failed
        case .signal, .timeout: failed
        case .interrupted: run.interrupted?.target.map { self.move($0, .interrupted) } ?? failed
        }
    }

    private func move(_ target: DeclaredTarget, _ kind: Edge.Kind) -> MachineMove {
        let next = self.declaration.filled(target, from: self)
        return MachineMove(to: TypedValue(next), cause: kind.label)
    }
}

extension Declaration {
    /// The state of that name with that data, as a client may ask for it or as it has been recorded.
    ///
    /// A missing field gets its default; null counts as missing.
    package func state(_ name: String, data: [JSONMember]) throws(WireError) -> DeclaredState {
        let number = try self.number(ofState: name)
        return DeclaredState(
            self,
            number,
            try self.states[number].fields.values(of: data, owner: name)
        )
    }

    /// The members that `key=value` words stand for, each typed as its field is declared; a key
    /// that ends with a colon says that the value is JSON.
    package func data(
        ofWords words: [(key: String, value: String)],
        forState name: String
    ) throws(WireError) -> [JSONMember] {
        let number = try self.number(ofState: name)
        return try self.states[number].fields.members(ofWords: words, owner: name)
    }

    /// The same for an event.
    package func data(
        ofWords words: [(key: String, value: String)],
        forEvent name: String
    ) throws(WireError) -> [JSONMember] {
        let number = try self.number(ofEvent: name)
        return try self.events[number].fields.members(ofWords: words, owner: name)
    }

    func number(ofState name: String) throws(WireError) -> Int {
        if let number = self.stateNumber(name) { return number }
        throw .unknownState(name, known: self.stateNames)
    }

    func number(ofEvent name: String) throws(WireError) -> Int {
        if let number = self.eventNumber(name) { return number }
        throw .unknownEvent(name, known: self.events.map(\.name))
    }
}

extension [DeclaredField] {
    /// The values that members give, evaluated; a missing field gets its default, and null counts as missing.
    func values(of data: [JSONMember], owner: String) throws(WireError) -> [JSONValue?] {
        var values = [JSONValue?](repeating: nil, count: self.count)
        for member in data {
            let index = try self.index(of: member.key, owner: owner)
            guard member.value != .null else { continue }
            values[index] = try self[index].evaluated(member.value)
        }
        for (index, field) in self.enumerated() where values[index] == nil {
            values[index] = field.fallback
            guard values[index] != nil || field.isOptional else {
                throw .lacks(field, owner: owner)
            }
        }
        return values
    }

    func index(of name: String, owner: String) throws(WireError) -> Int {
        if let index = self.firstIndex(where: { $0.name.isSpelled(name) }) { return index }
        throw .noField(name, owner: owner, known: self.map(\.name))
    }

    fileprivate func members(
        ofWords words: [(key: String, value: String)],
        owner: String
    ) throws(WireError) -> [JSONMember] {
        try words.map { (word) throws(WireError) -> JSONMember in
            let isJSON = word.key.utf8.last == UInt8(ascii: ":")
            let key = isJSON ? String(Substring(word.key.utf8.dropLast())) : word.key
            let field = self[try self.index(of: key, owner: owner)]
            do throws(FieldObjection) {
                return JSONMember(field.name, try field.value(ofWord: word.value, isJSON: isJSON))
            } catch {
                throw .badData(
                    error.sentence(about: field.name, .string(word.value)),
                    known: field.values
                )
            }
        }
    }
}

extension DeclaredField {
    /// The value of a word after `key=`, or after `key:=`, where it is always JSON.
    fileprivate func value(ofWord word: String, isJSON: Bool) throws(FieldObjection) -> JSONValue {
        // A text may be "null".
        if self.isOptional, word == "null", isJSON || self.type != .string { return .null }
        guard isJSON else { return try self.value(ofText: word) }
        guard let value = JSONValue(parsing: word) else {
            throw FieldObjection(doubledIn: word)
                ?? FieldObjection(sentence: "write JSON after :=")
        }
        if let objection = self.objection(to: value) { throw objection }
        return value
    }

    /// The value in the form that is kept; throws if it does not fit.
    func evaluated(_ value: JSONValue) throws(WireError) -> JSONValue {
        if let objection = self.objection(to: value) {
            throw .badData(objection.sentence(about: self.name, value), known: self.values)
        }
        return self.kept(value)
    }

    /// A number added to the field's value: exact for integers, else rounded as a `Double` is.
    func sum(of present: JSONValue?, and amount: JSONValue) throws(WireError) -> JSONValue {
        let addition = "\(self.name)+=\(amount.plainText.excerpt())"
        guard self.type == .integer || self.type == .number else {
            throw .badData("\(addition): \(self.name) is \(self.typeName), not a number")
        }
        guard let present else {
            throw .badData("\(addition): \(self.name) has no value; set it first")
        }
        if let left = present.integer, let right = amount.integer {
            let (sum, isTooLarge) = left.addingReportingOverflow(right)
            if !isTooLarge { return .number("\(sum)") }
        } else if self.type == .integer {
            throw .badData("\(addition): add a whole number")
        }
        guard self.type == .number, case .number(let left) = present,
            case .number(let right) = amount, let left = Double(left), let right = Double(right),
            (left + right).isFinite
        else {
            // Only what has the same sign leads out of range.
            let text = present.plainText
            let (size, kind) = (
                text.hasPrefix("-") ? "smaller" : "larger",
                self.type == .integer ? "integer" : "number"
            )
            throw .badData(
                "\(addition): the field is \(text.excerpt()), and the sum is \(size) than any \(kind) here can be"
            )
        }
        return .number("\(left + right)")
    }
}

// Why something that was asked for is not done; nothing has changed.
extension WireError {
    static func unknownState(_ name: String, known: [String]) -> WireError {
        WireError(
            .unknownState,
            "there is no state \(name.quoted)" + NearestName.remark(on: name, among: known),
            known: known
        )
    }

    static func unknownEvent(_ name: String, known: [String]) -> WireError {
        WireError(
            .unknownEvent,
            known.isEmpty
                ? "this machine has no events"
                : "there is no event \(name.quoted)" + NearestName.remark(on: name, among: known),
            known: known
        )
    }

    /// A sentence, and what is possible instead: fields' names or a field's values.
    static func badData(_ sentence: String, known: [JSONValue] = []) -> WireError {
        WireError(.badData, sentence, values: known)
    }

    static func noField(_ name: String, owner: String, known: [String]) -> WireError {
        let nearest = NearestName.of(name, among: known).map { "; did you mean \($0)?" }
        let all = known.isEmpty ? "; it has none" : "; known: \(known.joined(separator: ", "))"
        return .badData(
            "\(owner.quoted) has no field \(name.quoted)\(nearest ?? all)",
            known: known.map { .string($0) }
        )
    }

    /// A required field is not given.
    static func lacks(_ field: DeclaredField, owner: String) -> WireError {
        .badData("\(owner.quoted) needs \(field.name.quoted), \(field.takes)", known: field.values)
    }

    /// The state may not be set from the present one.
    static func illegalTransition(_ name: String, from: String, allowed: [String]) -> WireError {
        WireError(
            .illegalTransition,
            "\(name.quoted) may not be set from \(from.quoted); "
                + (allowed.isEmpty
                    ? "nothing may be set from it" : "allowed: \(allowed.joined(separator: ", "))"),
            known: allowed
        )
    }
}
