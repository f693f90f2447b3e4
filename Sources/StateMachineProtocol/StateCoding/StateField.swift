/// An associated value of a state, as it appears in `data`.
package struct StateField: Hashable, Sendable {
    /// Its name in `data`.
    package let name: String
    package let type: JSONFieldType
    /// All its possible values, if that is a closed list; else empty.
    package let values: [JSONValue]
    package let isOptional: Bool
    /// Whether it has a value where none is given.
    let hasDefault: Bool
    /// What `describe` says of its range: `min`, `max` or both; empty without one.
    package let range: [JSONMember]
    /// Its former names.
    let oldNames: [String]

    package init(
        _ name: String,
        type: JSONFieldType,
        values: [JSONValue] = [],
        isOptional: Bool,
        hasDefault: Bool = false,
        range: [JSONMember] = [],
        oldNames: [String] = []
    ) {
        self.name = name
        self.type = type
        self.values = values
        self.isOptional = isOptional
        self.hasDefault = hasDefault
        self.range = range
        self.oldNames = oldNames
    }

    /// Whether it has to be given.
    var isNeeded: Bool { !self.isOptional && !self.hasDefault }

    /// The name of a value that the compiler's `Codable` conformance encodes under that key: the label, or
    /// `_0`, `_1` … without one.
    static func name(ofKey key: String) -> String {
        guard key.first == "_", let index = Int(key.dropFirst()) else { return key }
        return index == 0 ? "value" : "value\(index + 1)"
    }

    /// The key of a field of that name if it has no label; nil if it must have one.
    static func unlabelledKey(ofName name: String) -> String? {
        // By bytes: a name may come from a client.
        guard name.utf8.starts(with: "value".utf8) else { return nil }
        if name.utf8.count == 5 { return "_0" }
        guard let number = Int(Substring(name.utf8.dropFirst(5))), number > 1 else { return nil }
        return "_\(number - 1)"
    }

    /// What is wrong with `value` for this field; nil if nothing is.
    func objection(to value: JSONValue) -> String? {
        if value == .null && self.isOptional { return nil }
        guard self.values.isEmpty else {
            guard !self.values.contains(value) else { return nil }
            let nearest = value.string.flatMap {
                NearestName.of($0, among: self.values.compactMap(\.string))
            }
            return "must be one of \(self.values.listed)"
                + (nearest.map { "; did you mean \($0)?" } ?? "")
        }
        guard !self.type.admits(value) else { return nil }
        return "must be of type \(self.type.rawValue), not \(value.kind)"
    }
}

extension StateField {
    /// The value that a word stands for, by the field's type, never by its look: for a string field
    /// every word is text.
    ///
    /// A word that does not fit stays a string, which the check of the field's values then refuses.
    package func value(ofWord word: String) -> JSONValue {
        // A string field may hold "null".
        if self.type != .string, self.isOptional, word == "null" { return .null }
        return self.type.value(ofWord: word)
    }
}

extension JSONFieldType {
    /// The value of this type that a word stands for; one that stands for none stays a string.
    package func value(ofWord word: String) -> JSONValue {
        switch self {
        case .string: return .string(word)
        case .boolean:
            switch word {
            case "true": return .bool(true)
            case "false": return .bool(false)
            default: return .string(word)
            }
        case .integer:
            guard word.utf8.first != UInt8(ascii: "+") else { return .string(word) }
            if let integer = Int64(word) { return .integer(integer) }
            return UInt64(word).map { .integer($0) } ?? .string(word)
        case .number:
            // JSON may have white space around it, which is none of a number's digits.
            guard let value = JSONValue(parsing: word), case .number(let number) = value,
                number.isSpelled(word)
            else {
                return .string(word)
            }
            return value
        // A type with an encoding of its own may be anything.
        case .array, .object: return JSONValue(typed: word)
        }
    }
}
