extension StateField {
    /// The value that a word stands for, by the field's type, never by its look: for a string field
    /// every word is text.
    ///
    /// A word that does not fit stays a string, which the check of the field's values then refuses.
    package func value(ofWord word: String) -> JSONValue {
        // A string field may hold "null".
        if self.type != .string, self.isOptional, word == "null" { return .null }
        switch self.type {
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
            guard let value = JSONValue(parsing: word), case .number = value else {
                return .string(word)
            }
            return value
        // A type with an encoding of its own may be anything.
        case .array, .object: return JSONValue(typed: word)
        }
    }
}
