package import StateMachineProtocol

/// A field of a declared state or event.
package struct DeclaredField: Hashable, Sendable {
    /// The limits of a number, or of a text's length in bytes; nil where there is none.
    ///
    /// Exact, as patterns compare numbers: a double would take 10.0000000000000000001 for 10.
    package struct Bounds: Hashable, Sendable {
        var least: JSONDecimal?
        var most: JSONDecimal?
    }

    package let name: String
    package let type: JSONFieldType
    /// All its possible values, if they are listed; else empty.
    package internal(set) var values: [JSONValue] = []
    package internal(set) var bounds = Bounds()
    /// The value where nothing else gives one.
    package internal(set) var fallback: JSONValue?
    /// Whether it may be absent.
    package internal(set) var isOptional = false
    /// Its old names.
    package internal(set) var oldNames: [String] = []

    /// What its type is called, with an article.
    package var typeName: String {
        switch self.type {
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Why a value does not fit a field; a sentence to go after `name=value: `.
package struct FieldObjection: Error, Hashable, Sendable {
    package let sentence: String
}

extension DeclaredField {
    /// What is wrong with `value` if this field is to be given it; nil if nothing is.
    package func objection(to value: JSONValue) -> FieldObjection? {
        if let wrong = self.objection(toKept: value) { return wrong }
        guard !value.hasOnlyFiniteNumbers else { return nil }
        return FieldObjection(sentence: "a number must be below 1.8e308 in size")
    }

    /// The same for a value that a state has already: earlier versions took numbers that no double holds.
    func objection(toKept value: JSONValue) -> FieldObjection? {
        if let wrong = self.typeObjection(to: value) { return wrong }
        guard !value.hasTooManyMarks else {
            return FieldObjection(
                sentence: "must have at most \(RequestLimits.marks) combining marks in a row"
            )
        }
        guard self.values.isEmpty || self.values.contains(value) else {
            let known = self.values.map(\.plainText)
            let nearest = NearestName.of(value.plainText, among: known)
                .map { "; did you mean \($0)?" }
            return FieldObjection(
                sentence: "must be one of \(known.joined(separator: ", "))\(nearest ?? "")"
            )
        }
        return self.boundsObjection(to: value)
    }

    /// The value that a word stands for, typed as the field is: text stays text.
    package func value(ofText text: String) throws(FieldObjection) -> JSONValue {
        let value = self.type.value(ofWord: text)
        guard self.typeObjection(to: value) == nil else {
            throw FieldObjection(doubledIn: text)
                ?? FieldObjection(sentence: "write \(self.example)")
        }
        if let objection = self.objection(to: value) { throw objection }
        return value
    }

    /// The value in the form that the field keeps: integers in their plain spelling.
    func kept(_ value: JSONValue) -> JSONValue {
        guard self.type == .integer, let integer = value.integer else { return value }
        return .number("\(integer)")
    }

    private var example: String {
        switch self.type {
        case .boolean: "true or false"
        case .integer: "a whole number"
        case .number: "a number, like 1.5"
        case .array: "a list, like [\"a\"]"
        case .object: "an object, like {\"a\": \"b\"}"
        case .string: self.typeName
        }
    }

    private func typeObjection(to value: JSONValue) -> FieldObjection? {
        let what =
            switch self.type {
            case .boolean, .integer: self.example
            case .array: "a list"
            case .number, .string, .object: self.typeName
            }
        let isInteger = value.integer != nil
        guard self.type == .integer ? !isInteger : value.kind != self.type.rawValue else {
            return nil
        }
        return FieldObjection(sentence: "write \(what)")
    }

    private func boundsObjection(to value: JSONValue) -> FieldObjection? {
        let measured: JSONDecimal?
        switch value {
        case .number(let text): measured = JSONDecimal(text)
        case .string(let text): measured = JSONDecimal("\(text.utf8.count)")
        case .null, .bool, .array, .object: return nil
        }
        let bounds = self.bounds
        guard bounds.least != nil || bounds.most != nil else { return nil }
        guard let measured else {
            return FieldObjection(sentence: "is out of range: its exponent has too many digits")
        }
        if let least = bounds.least, measured < least {
            return FieldObjection(sentence: "must \(self.verb) at least \(least)\(self.unit)")
        }
        if let most = bounds.most, measured > most {
            return FieldObjection(sentence: "must \(self.verb) at most \(most)\(self.unit)")
        }
        return nil
    }

    /// What a value with a bound does: a text has so many bytes.
    private var verb: String { self.type == .string ? "have" : "be" }

    /// What a bound counts, to go after it.
    private var unit: String { self.type == .string ? " bytes" : "" }
}

extension DeclaredField {
    /// What it takes, with an article: `an integer from 1 to 8`, `one of fast, slow`.
    package var takes: String {
        guard self.values.isEmpty else {
            return "one of \(self.values.map(\.plainText).joined(separator: ", "))"
        }
        return switch (self.bounds.least, self.bounds.most) {
        case (nil, nil): self.typeName
        case (let least?, nil): "\(self.typeName) of at least \(least)\(self.unit)"
        case (nil, let most?): "\(self.typeName) of at most \(most)\(self.unit)"
        case (let least?, let most?): "\(self.typeName) from \(least) to \(most)\(self.unit)"
        }
    }
}

extension DeclaredField.Bounds {
    /// The same as members of a field in `describe`.
    var members: [JSONMember] {
        [("min", self.least), ("max", self.most)].compactMap { key, end in
            end.map { JSONMember(key, .number("\($0)")) }
        }
    }

    /// Whether all that keeps to the other bounds keeps to these.
    fileprivate func contains(_ other: Self) -> Bool {
        (self.least.map { least in other.least.map { $0 >= least } ?? false } ?? true)
            && (self.most.map { most in other.most.map { $0 <= most } ?? false } ?? true)
    }
}

extension FieldObjection {
    /// That a text, which would be JSON, has a key twice in one object.
    init?(doubledIn text: String) {
        guard let key = JSONValue.doubledKey(in: text) else { return nil }
        self.init(sentence: "the key \(key.quoted) is there twice in one object")
    }

    /// The objection with the field and the value before it.
    package func sentence(about name: String, _ value: JSONValue) -> String {
        "\(name)=\(value.plainText.excerpt()): \(self.sentence)"
    }
}

extension DeclaredField {
    /// Whether values of `source` are of this field's type.
    func hasType(of source: DeclaredField) -> Bool {
        self.type == source.type || (self.type == .number && source.type == .integer)
    }

    /// Whether every value that `source` can have fits this field.
    func admitsAll(of source: DeclaredField) -> Bool {
        guard self.hasType(of: source) else { return false }
        guard source.values.isEmpty else {
            return source.values.allSatisfy { self.objection(to: $0) == nil }
        }
        guard self.values.isEmpty else { return false }
        var given = source.bounds
        if self.type == .number, source.type == .integer {
            given.least = given.least ?? JSONDecimal("\(Int64.min)")
            given.most = given.most ?? JSONDecimal("\(Int64.max)")
        }
        return self.bounds.contains(given)
    }
}

extension DeclaredField {
    /// The value that the file gives for this field; nil, after reporting it, if it does not fit.
    func value(of node: YAMLNode, _ problems: Problems) -> JSONValue? {
        let value: JSONValue
        switch node.content {
        case .scalar(let scalar):
            guard !node.isEmpty else {
                return problems.refuse(
                    node.position,
                    "\(self.name)=: write a value, or \"\" for no text"
                )
            }
            do {
                return try self.value(ofText: scalar.text)
            } catch {
                let sentence = error.sentence(about: self.name, .string(scalar.text))
                return problems.refuse(node.position, sentence)
            }
        case .sequence, .mapping: value = node.json
        }
        if let objection = self.objection(to: value) {
            return problems.refuse(node.position, objection.sentence(about: self.name, value))
        }
        return value
    }
}

extension YAMLNode {
    /// The node as JSON; every scalar is a string.
    fileprivate var json: JSONValue {
        switch self.content {
        case .scalar(let scalar): .string(scalar.text)
        case .sequence(let elements): .array(elements.map(\.json))
        case .mapping(let entries): .object(entries.map { JSONMember($0.key.text, $0.value.json) })
        }
    }
}

/// Where a move leads, and where each field of the state there comes from.
package struct DeclaredTarget: Hashable, Sendable {
    /// Where a field's value comes from.
    package enum Source: Hashable, Sendable {
        /// It is written in the target.
        case literal(JSONValue)
        /// The event's field at that index.
        case event(Int)
        /// The left state's field at that index.
        case left(Int)
        /// The field's default.
        case fallback(JSONValue)
    }

    /// The state's number in ``Declaration/states``.
    package let state: Int

    /// For each field its sources, of which the first with a value counts; the last may lack a
    /// value only if the field may be absent.
    package let sources: [[Source]]
}
