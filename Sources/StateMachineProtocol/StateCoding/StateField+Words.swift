extension StateField {
    /// The value that a word stands for, typed as the field is, never by its look: of a string every word is the
    /// text.
    ///
    /// A word that is no such value stays a string, which whatever evaluates the field's values then refuses.
    package func value(ofWord word: String) -> JSONValue {
        // What is text may be called "null".
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
        // A type that writes itself in its own way may be anything.
        case .array, .object: return JSONValue(typed: word)
        }
    }
}
