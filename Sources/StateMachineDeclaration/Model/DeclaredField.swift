package import StateMachineProtocol

/// A field of a declared state or event.
package struct DeclaredField: Hashable, Sendable {
    /// The limits of a value, or of a text's length in bytes.
    package enum Bounds: Hashable, Sendable {
        case none
        case integers(ClosedRange<Int64>)
        /// Exact, as patterns compare numbers: a double would take 10.0000000000000000001 for 10.
        case numbers(ClosedRange<JSONDecimal>)
        /// Of a text in UTF-8.
        case bytes(ClosedRange<Int64>)
    }

    /// As far as a double goes, where a bound is not given.
    static let widestNumbers: ClosedRange<JSONDecimal> = {
        let end = "\(Double.greatestFiniteMagnitude)"
        guard let least = JSONDecimal("-" + end), let most = JSONDecimal(end) else {
            preconditionFailure("\(end) is no number")
        }
        return least...most
    }()

    package let name: String
    package let type: JSONFieldType
    /// All its possible values, if they are listed; else empty.
    package let values: [JSONValue]
    package let bounds: Bounds
    /// The value where nothing else gives one.
    package internal(set) var fallback: JSONValue?
    /// Whether it may be absent.
    package let isOptional: Bool
    /// Its old names.
    package let oldNames: [String]

    /// Whether a value is there whenever the state or event is.
    package var isCertain: Bool { !self.isOptional }

    /// Whether a command's word can contain it.
    package var isScalar: Bool {
        switch self.type {
        case .boolean, .integer, .number, .string: true
        case .array, .object: false
        }
    }

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
    /// What is wrong with `value` for this field; nil if nothing is.
    package func objection(to value: JSONValue) -> FieldObjection? {
        if let wrong = self.typeObjection(to: value) { return wrong }
        guard !value.hasTooManyMarks else {
            return FieldObjection(
                sentence: "at most \(RequestLimits.marks) combining marks in a row"
            )
        }
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
            // JSON may have white space around it, which is none of a number's digits.
            guard case .number(let number)? = JSONValue(parsing: text), number.isSpelled(text),
                Double(number) != nil
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
        switch (self.bounds, source.bounds) {
        case (.none, _): return true
        case (.integers(let own), .integers(let other)): return own.contains(other)
        case (.bytes(let own), .bytes(let other)): return own.contains(other)
        case (.numbers(let own), .numbers(let other)): return own.contains(other)
        case (.numbers(let own), .integers(let other)):
            guard let least = JSONDecimal("\(other.lowerBound)"),
                let most = JSONDecimal("\(other.upperBound)")
            else { return false }
            return own.contains(least...most)
        case (.integers, _), (.bytes, _), (.numbers, _): return false
        }
    }
}

extension DeclaredField {
    /// The value that the file gives for this field; nil, after reporting it, if it does not fit.
    func value(of node: YAMLNode, _ problems: Problems) -> JSONValue? {
        let value: JSONValue
        switch node.content {
        case .scalar(let scalar):
            guard !node.isEmpty else {
                problems.error(node.position, "\(self.name)=: write a value, or \"\" for no text")
                return nil
            }
            switch self.value(ofText: scalar.text) {
            case .success(let value): return value
            case .failure(let objection):
                let sentence = objection.sentence(about: self.name, .string(scalar.text))
                problems.error(node.position, sentence)
                return nil
            }
        case .sequence, .mapping: value = node.json
        }
        if let objection = self.objection(to: value) {
            problems.error(node.position, objection.sentence(about: self.name, value))
            return nil
        }
        return value
    }
}

extension YAMLNode {
    /// The node as JSON; every scalar is a string.
    private static func json(_ node: YAMLNode) -> JSONValue {
        switch node.content {
        case .scalar(let scalar): .string(scalar.text)
        case .sequence(let elements): .array(elements.map(self.json))
        case .mapping(let entries):
            .object(entries.map { JSONMember($0.key.text, self.json($0.value)) })
        }
    }

    var json: JSONValue { Self.json(self) }
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
