package import StateMachineProtocol

extension DeclaredField {
    /// What is wrong with `value` for this field; nil if nothing is.
    package func objection(to value: JSONValue) -> FieldObjection? {
        if let wrong = self.typeObjection(to: value) { return wrong }
        guard self.values.isEmpty || self.values.contains(value) else {
            let known = self.values.map(\.plainText)
            let nearest = NearestName.of(value.plainText, among: known)
                .map { "; did you mean \($0)?" }
            return FieldObjection(
                sentence: "one of \(known.joined(separator: ", "))\(nearest ?? "")"
            )
        }
        return self.bounds.objection(to: value)
    }

    /// The value that a word stands for, typed as the field is: text stays text.
    package func value(ofText text: String) -> Result<JSONValue, FieldObjection> {
        let value: JSONValue
        switch self.type {
        case .boolean:
            guard text == "true" || text == "false" else {
                return .failure(FieldObjection(sentence: "write true or false"))
            }
            value = .bool(text == "true")
        case .integer:
            guard let integer = Self.integer(text) else {
                return .failure(FieldObjection(sentence: "write a whole number"))
            }
            value = .number("\(integer)")
        case .number:
            guard case .number(let number)? = JSONValue(parsing: text), Double(number) != nil
            else { return .failure(FieldObjection(sentence: "write a number, like 1.5")) }
            value = .number(number)
        case .string: value = .string(text)
        case .array:
            guard let array = JSONValue(parsing: text), array.elements != nil else {
                return .failure(FieldObjection(sentence: "write a list, like [\"a\"]"))
            }
            value = array
        case .object:
            guard let object = JSONValue(parsing: text), object.members != nil else {
                return .failure(FieldObjection(sentence: "write an object, like {\"a\": \"b\"}"))
            }
            value = object
        }
        return self.objection(to: value).map { .failure($0) } ?? .success(value)
    }

    /// The value in the form that the field keeps: integers in their plain spelling.
    func kept(_ value: JSONValue) -> JSONValue {
        guard self.type == .integer, let integer = value.integer else { return value }
        return .number("\(integer)")
    }

    private func typeObjection(to value: JSONValue) -> FieldObjection? {
        let sentence: String
        switch (self.type, value) {
        case (.boolean, .bool), (.string, .string), (.array, .array), (.object, .object),
            (.number, .number):
            return nil
        case (.integer, .number(let text)):
            guard Int64(text) == nil else { return nil }
            sentence = "write a whole number"
        case (.boolean, _): sentence = "write true or false"
        case (.integer, _): sentence = "write a whole number"
        case (.number, _): sentence = "write a number"
        case (.string, _): sentence = "write a string"
        case (.array, _): sentence = "write a list"
        case (.object, _): sentence = "write an object"
        }
        return FieldObjection(sentence: sentence)
    }

    /// Digits with at most a minus before them.
    private static func integer(_ text: String) -> Int64? {
        guard text.utf8.first != UInt8(ascii: "+") else { return nil }
        return Int64(text)
    }
}

extension DeclaredField {
    /// What it takes, with an article: `an integer from 1 to 8`, `one of fast, slow`.
    package var takes: String {
        guard self.values.isEmpty else {
            return "one of \(self.values.map(\.plainText).joined(separator: ", "))"
        }
        return self.typeName + self.bounds.words
    }
}

extension DeclaredField.Bounds {
    /// What follows the type: ` from 1 to 8`; nothing without bounds.
    fileprivate var words: String {
        switch self {
        case .none: ""
        case .integers(let range):
            Self.words(
                range.lowerBound == .min ? nil : "\(range.lowerBound)",
                range.upperBound == .max ? nil : "\(range.upperBound)"
            )
        case .numbers(let range):
            Self.words(
                range.lowerBound == DeclaredField.widestNumbers.lowerBound
                    ? nil : "\(range.lowerBound)",
                range.upperBound == DeclaredField.widestNumbers.upperBound
                    ? nil : "\(range.upperBound)"
            )
        case .bytes(let range):
            Self.words(
                range.lowerBound == 0 ? nil : "\(range.lowerBound)",
                range.upperBound == .max ? nil : "\(range.upperBound)",
                " bytes"
            )
        }
    }

    private static func words(_ least: String?, _ most: String?, _ unit: String = "") -> String {
        switch (least, most) {
        case (nil, nil): ""
        case (let least?, nil): " of at least \(least)\(unit)"
        case (nil, let most?): " of at most \(most)\(unit)"
        case (let least?, let most?): " from \(least) to \(most)\(unit)"
        }
    }

    func objection(to value: JSONValue) -> FieldObjection? {
        switch self {
        case .none: return nil
        case .integers(let range):
            guard let integer = value.integer else { return nil }
            if integer < range.lowerBound { return .atLeast("\(range.lowerBound)") }
            if integer > range.upperBound { return .atMost("\(range.upperBound)") }
        case .numbers(let range):
            guard case .number(let text) = value else { return nil }
            guard let number = JSONDecimal(text) else {
                return FieldObjection(sentence: "write a number with a shorter exponent")
            }
            if number < range.lowerBound { return .atLeast("\(range.lowerBound)") }
            if number > range.upperBound { return .atMost("\(range.upperBound)") }
        case .bytes(let range):
            guard let count = value.string?.utf8.count else { return nil }
            if count < range.lowerBound { return .atLeast("\(range.lowerBound) bytes") }
            if count > range.upperBound { return .atMost("\(range.upperBound) bytes") }
        }
        return nil
    }
}

extension FieldObjection {
    fileprivate static func atLeast(_ bound: String) -> Self { Self(sentence: "at least \(bound)") }

    fileprivate static func atMost(_ bound: String) -> Self { Self(sentence: "at most \(bound)") }

    /// The objection with the field and the value before it.
    package func sentence(about name: String, _ value: JSONValue) -> String {
        "\(name)=\(value.plainText.excerpt()): \(self.sentence)"
    }
}
