package import StateMachineProtocol

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

extension Declaration {
    /// The state of that name with that data, as a client may ask for it or as it has been recorded.
    ///
    /// A missing field gets its default; null counts as missing.
    package func state(
        _ name: String,
        data: [JSONMember]
    ) throws(DeclaredRefusal) -> DeclaredState {
        let number = try self.number(ofState: name)
        let state = self.states[number]
        let given = try state.fields.values(of: data, owner: name)
        let values = try zip(state.fields, given).map {
            (field, value) throws(DeclaredRefusal) -> JSONValue? in
            if let value = value ?? field.fallback { return value }
            if field.isOptional { return nil }
            throw .lacks(field, owner: name)
        }
        return DeclaredState(self, number, values)
    }

    /// The members that `key=value` words stand for, each typed as its field is declared; a key
    /// that ends with a colon says that the value is JSON.
    package func data(
        ofWords words: [(key: String, value: String)],
        forState name: String
    ) throws(DeclaredRefusal) -> [JSONMember] {
        let number = try self.number(ofState: name)
        return try self.states[number].fields.members(ofWords: words, owner: name)
    }

    /// The same for an event.
    package func data(
        ofWords words: [(key: String, value: String)],
        forEvent name: String
    ) throws(DeclaredRefusal) -> [JSONMember] {
        let number = try self.number(ofEvent: name)
        return try self.events[number].fields.members(ofWords: words, owner: name)
    }

    func number(ofState name: String) throws(DeclaredRefusal) -> Int {
        if let number = self.stateNumber(name) { return number }
        throw .unknownState(name, known: self.stateNames)
    }

    func number(ofEvent name: String) throws(DeclaredRefusal) -> Int {
        if let number = self.eventNumber(name) { return number }
        throw .unknownEvent(name, known: self.events.map(\.name))
    }
}

extension [DeclaredField] {
    /// The values that members give, evaluated; nil for the fields that are missing or null.
    func values(
        of data: [JSONMember],
        owner: String
    ) throws(DeclaredRefusal) -> [JSONValue?] {
        var values = [JSONValue?](repeating: nil, count: self.count)
        for member in data {
            let index = try self.index(of: member.key, owner: owner)
            guard member.value != .null else { continue }
            values[index] = try self[index].evaluated(member.value)
        }
        return values
    }

    func index(of name: String, owner: String) throws(DeclaredRefusal) -> Int {
        if let index = self.firstIndex(where: { $0.name.isSpelled(name) }) { return index }
        throw .noField(name, owner: owner, known: self.map(\.name))
    }

    fileprivate func members(
        ofWords words: [(key: String, value: String)],
        owner: String
    ) throws(DeclaredRefusal) -> [JSONMember] {
        try words.map { (word) throws(DeclaredRefusal) -> JSONMember in
            let isJSON = word.key.utf8.last == UInt8(ascii: ":")
            let key = isJSON ? String(Substring(word.key.utf8.dropLast())) : word.key
            let field = self[try self.index(of: key, owner: owner)]
            switch field.value(ofWord: word.value, isJSON: isJSON) {
            case .success(let value): return JSONMember(field.name, value)
            case .failure(let objection):
                throw .badData(
                    objection.sentence(about: field.name, .string(word.value)),
                    known: field.values
                )
            }
        }
    }
}

extension DeclaredField {
    /// The value of a word after `key=`, or after `key:=`, where it is always JSON.
    fileprivate func value(
        ofWord word: String,
        isJSON: Bool
    ) -> Result<JSONValue, FieldObjection> {
        // A text may be "null".
        if self.isOptional, word == "null", isJSON || self.type != .string {
            return .success(.null)
        }
        guard isJSON else { return self.value(ofText: word) }
        guard let value = JSONValue(parsing: word) else {
            return .failure(FieldObjection(sentence: "write JSON after :="))
        }
        return self.objection(to: value).map { .failure($0) } ?? .success(value)
    }

    /// The value in the form that is kept; throws if it does not fit.
    func evaluated(_ value: JSONValue) throws(DeclaredRefusal) -> JSONValue {
        if let objection = self.objection(to: value) {
            throw .badData(objection.sentence(about: self.name, value), known: self.values)
        }
        return self.kept(value)
    }

    /// A number added to the field's value: exact for integers, else rounded as a `Double` is.
    func sum(of present: JSONValue?, and amount: JSONValue) throws(DeclaredRefusal) -> JSONValue {
        let addition = "\(self.name)+=\(amount.plainText.excerpt())"
        guard self.type == .integer || self.type == .number else {
            throw .badData("\(addition): \(self.name) is \(self.typeName), no number", known: [])
        }
        guard let present else {
            throw .badData("\(addition): \(self.name) has no value; set it first", known: [])
        }
        if let left = present.integer, let right = amount.integer {
            let (sum, isTooLarge) = left.addingReportingOverflow(right)
            if !isTooLarge { return .number("\(sum)") }
        } else if self.type == .integer {
            throw .badData("\(addition): add a whole number", known: [])
        }
        guard self.type == .number, case .number(let left) = present,
            case .number(let right) = amount, let left = Double(left), let right = Double(right),
            (left + right).isFinite
        else { throw .badData("\(addition): \(present.plainText) is as far as it goes", known: []) }
        return .number("\(left + right)")
    }
}
