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
    /// The machine's fields that it does not give: it is what a client has asked for, and has those of the state before from
    /// when it is set.
    let carried: [Int]
    /// What is known of its times.
    let times: [KnownTime]

    /// A state with values that have been evaluated: one for each field.
    init(
        _ declaration: Declaration,
        _ number: Int,
        _ values: [JSONValue?],
        carrying carried: [Int] = [],
        times: [KnownTime] = []
    ) {
        self.carried = carried
        self.times = times
        self.declaration = declaration
        self.number = number
        // Numbers may be spelled in several ways; they are kept in one.
        self.values = zip(declaration.states[number].fields, values).map { field, value in
            value.map { field.kept($0) }
        }
    }

    /// Its declared state.
    package var declared: StateDeclaration { self.declaration.states[self.number] }

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
                let isTime = field.type == .time
                let time = isTime ? value.integer.map { Duration.milliseconds($0).timeText } : nil
                let text = time ?? value.plainText
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
            to: next.declared.name,
            from: self.declared.name,
            allowed: self.declared.successors.map { self.declaration.states[$0].name }
        )
    }

    /// The cases of what happens, in the file's order, and what a move because of it is called; nil if the file says
    /// nothing about it.
    ///
    /// An interruption after which the command is to be run again leads where a failure does:
    /// whoever runs the command has to run it again first.
    ///
    /// - Throws: `unknown-event`.
    func cases(on stimulus: Stimulus) throws(WireError) -> (list: [Branch], kind: Edge.Kind)? {
        let declared = self.declared
        let (list, kind): ([Branch]?, Edge.Kind)
        switch stimulus {
        case .event(let name, _):
            let number = try self.declaration.number(ofEvent: name)
            (list, kind) = (declared.reactions[number], .event(name))
        case .time(let key):
            guard let time = declared.after.first(where: { $0.key == key }) else { return nil }
            (list, kind) = (time.cases, .after(time.moment))
        case .boot: (list, kind) = (declared.boot, .boot)
        case .runEnded(.exit(0)): (list, kind) = (declared.run?.done, .done)
        case .runEnded(.exit(let code)) where declared.run?.exits[code] != nil:
            (list, kind) = (declared.run?.exits[code], .exit(code))
        case .runEnded(.interrupted) where !self.isRunAgain:
            (list, kind) = (declared.run?.interrupted, .interrupted)
        case .runEnded: (list, kind) = (declared.run?.failed, .failed)
        case .seen(let condition):
            list = declared.lookouts.first { $0.condition == condition }?.cases
            kind = .link(condition)
        case .update: return nil
        }
        return list.map { ($0, kind) }
    }

    /// What an event may come to, whatever its fields carry.
    ///
    /// - Throws: `unknown-event`.
    func outlook(on event: String, _ known: Given) throws(WireError) -> Outlook {
        try self.cases(on: .event(event, [])).map { self.outlook(of: $0.list, known) }
            ?? Outlook([])
    }

    /// What the machine does about something, besides being changed by a client.
    ///
    /// - Throws: `unknown-event`, `bad-data` if the data does not fit the event, or the state that it leads to, or
    ///   `refused`.
    ///
    /// `remaining` is what is left of its own next time; nil: none is due, or nobody asks.
    package func decision(
        on stimulus: Stimulus,
        seeing sight: Sight = .nothing,
        remaining: Duration? = nil
    ) throws(WireError) -> Decision {
        let given = try self.given(by: stimulus, sight, remaining)
        guard let cases = try self.cases(on: stimulus) else {
            return Decision(.nothing(.unhandled))
        }
        let made = try self.made(by: cases.list, given)
        if case .event = stimulus { return Decision(made) }
        return Decision(made, cause: cases.kind.label)
    }

    /// Which of several cases is taken, and why none before it is; nil if there are not several.
    package func choice(
        on stimulus: Stimulus,
        seeing sight: Sight,
        remaining: Duration? = nil
    ) throws(WireError) -> String? {
        let given = try self.given(by: stimulus, sight, remaining)
        guard let cases = try self.cases(on: stimulus)?.list, cases.count > 1 else { return nil }
        let passed = self.objections(before: cases, given)
        let why = passed.isEmpty ? "" : ": " + passed.joined(separator: "; ")
        return "case \(passed.count + 1) of \(cases.count)\(why)"
    }

    /// What cases are judged by besides the state.
    private func given(
        by stimulus: Stimulus,
        _ sight: Sight,
        _ remaining: Duration?
    ) throws(WireError) -> Given {
        guard case .event(let name, let data) = stimulus else {
            return Given(remaining: remaining, sight: sight)
        }
        let number = try self.declaration.number(ofEvent: name)
        return Given(
            event: try self.declaration.events[number].fields.values(of: data, owner: name),
            remaining: remaining,
            sight: sight
        )
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
                values[index] = try field.taken(member.value)
            } else if field.isOptional {
                values[index] = nil
            } else {
                throw WireError(
                    .badData,
                    "\(field.name)=null: \(state.name.quoted) needs it; only an optional field can be removed"
                )
            }
        }
        for member in amounts {
            let index = try state.fields.index(of: member.key, owner: state.name)
            let field = state.fields[index]
            values[index] = try field.taken(
                field.sum(of: self.values[index], and: member.value)
            )
        }
        return try DeclaredState(self.declaration, self.number, values, times: self.times)
            .checkedLength()
    }

    /// The state itself.
    ///
    /// - Throws: `too-long`: it is too long to be shown.
    func checkedLength() throws(WireError) -> DeclaredState {
        // What is far from too long is not written for this; names have 64 bytes at most.
        let most = self.values.reduce(128) { $0 + 72 + ($1?.mostBytes ?? 0) }
        guard most > RequestLimits.stateBytes else { return self }
        try Encoded(self.declared.name, self.data).checkLength()
        return self
    }

    /// Whether a command that was interrupted is run again, and leads nowhere.
    package var isRunAgain: Bool {
        guard let cases = self.declared.run?.interrupted else { return true }
        return cases[self.objections(before: cases).count].outcome == .rerun
    }

    /// The same with the values of the machine's fields that it does not give.
    func completed(by left: DeclaredState) -> DeclaredState {
        guard !self.carried.isEmpty else { return self }
        var values = self.values
        // They stand last in every state.
        for index in self.carried {
            values[index] = left.values[index - values.count + left.values.count]
        }
        return DeclaredState(self.declaration, self.number, values)
    }

    /// Its data without fields that have their default: another declaration has its own defaults, and need not have the
    /// field.
    ///
    /// What was given of the machine's fields stays, since others than those are carried.
    var membersBesideDefaults: [JSONMember] {
        let own = self.values.count - self.declaration.sharedFields
        return zip(self.declared.fields, self.values).enumerated().compactMap { index, pair in
            let (field, value) = pair
            guard index < own else {
                return self.carried.contains(index) ? nil : JSONMember(field.name, value ?? .null)
            }
            return value.flatMap { $0 == field.fallback ? nil : JSONMember(field.name, $0) }
        }
    }
}

extension Declaration {
    /// The state of that name with that data, as a client may ask for it or as it has been recorded.
    ///
    /// A missing field gets its default; null counts as missing. The machine's fields are carried by a set, so that one
    /// that is missing has no value yet; null says of an optional one that it is to be absent.
    package func state(_ name: String, data: [JSONMember]) throws(WireError) -> DeclaredState {
        try self.state(try self.number(ofState: name), data)
    }

    /// The state of that number.
    func state(_ number: Int, _ data: [JSONMember]) throws(WireError) -> DeclaredState {
        let state = self.states[number]
        let own = state.fields.count - self.sharedFields
        let values = try state.fields.values(of: data, owner: state.name, carriedFrom: own)
        let carried = (own..<values.count).filter { index in
            let member = data.last { $0.key.isSpelled(state.fields[index].name) }
            // That an optional one is to be absent is said by null.
            return values[index] == nil && !(member != nil && state.fields[index].isOptional)
        }
        return DeclaredState(self, number, values, carrying: carried)
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
        return try self.schema.state(name).number
    }

    func number(ofEvent name: String) throws(WireError) -> Int {
        if let number = self.eventNumber(name) { return number }
        throw .unknownEvent(name, known: self.events.map(\.name))
    }
}

extension [Field] {
    /// The values that members give, evaluated; a missing field gets its default, and null counts as missing.
    ///
    /// Fields from `carried` on may have no value yet.
    func values(
        of data: [JSONMember],
        owner: String,
        carriedFrom carried: Int = .max
    ) throws(WireError) -> [JSONValue?] {
        var values = [JSONValue?](repeating: nil, count: self.count)
        for member in data {
            let index = try self.index(of: member.key, owner: owner)
            guard member.value != .null else { continue }
            values[index] = try self[index].taken(member.value)
        }
        for (index, field) in self.enumerated() where values[index] == nil && index < carried {
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
        var names: Set<Spelling> = []
        return try words.map { (word) throws(WireError) -> JSONMember in
            let isJSON = word.key.utf8.last == UInt8(ascii: ":")
            let key = isJSON ? String(Substring(word.key.utf8.dropLast())) : word.key
            let field = self[try self.index(of: key, owner: owner)]
            guard names.insert(Spelling(key)).inserted else {
                throw WireError(.badRequest, "\(key.quoted) is given twice; give it once")
            }
            do throws(Misfit) {
                return JSONMember(field.name, try field.value(ofWord: word.value, isJSON: isJSON))
            } catch {
                throw error.refusal(of: word.value)
            }
        }
    }
}

extension JSONValue {
    /// How many bytes it has as JSON at most: six for one of a text.
    fileprivate var mostBytes: Int {
        switch self {
        case .null, .bool: 5
        case .number(let text): text.utf8.count
        case .string(let text): 6 * text.utf8.count + 2
        case .array(let elements): elements.reduce(2) { $0 + $1.mostBytes + 1 }
        case .object(let members):
            members.reduce(2) { $0 + 6 * $1.key.utf8.count + $1.value.mostBytes + 4 }
        }
    }
}

extension Field {
    /// The value in the form that is kept.
    ///
    /// - Throws: `bad-data` if it does not fit.
    fileprivate func taken(_ value: JSONValue) throws(WireError) -> JSONValue {
        do throws(Misfit) { return try self.checked(value) } catch { throw error.refusal }
    }
}

// Why something that was asked for is not done; nothing has changed.
extension WireError {
    fileprivate static func unknownEvent(_ name: String, known: [String]) -> WireError {
        WireError(
            .unknownEvent,
            known.isEmpty
                ? "this machine has no events"
                : "there is no event \(name.quoted)" + NearestName.remark(on: name, among: known),
            known: known
        )
    }

    /// A required field is not given.
    fileprivate static func lacks(_ field: Field, owner: String) -> WireError {
        WireError(
            .badData,
            "\(owner.quoted) needs \(field.name.quoted), \(field.takes)",
            values: field.values
        )
    }
}
