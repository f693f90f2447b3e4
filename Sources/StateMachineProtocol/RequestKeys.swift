/// The members of a request object, read by type.
struct RequestKeys {
    let members: [JSONMember]

    subscript(_ key: String) -> JSONValue? {
        self.members.first { $0.key.isSpelled(key) }?.value
    }

    /// Refuses keys that the operation does not know.
    func allow(_ keys: [String], for operation: String) throws(WireError) {
        let known = ["op", "id"] + keys
        let odd = self.members.first { member in !known.contains { $0.isSpelled(member.key) } }
        guard let odd else { return }
        throw WireError(
            .badRequest,
            "\(operation) has no key \(odd.key.quoted); known: \(known.joined(separator: ", "))",
            known: known
        )
    }

    func id() throws(WireError) -> RequestID? {
        switch self["id"] {
        case nil: return nil
        case .string(let string):
            guard string.utf8.count <= RequestLimits.idBytes else {
                throw WireError(
                    .badRequest,
                    "id is longer than \(RequestLimits.idBytes) bytes of UTF-8"
                )
            }
            return .string(string)
        case .number(let text):
            guard let integer = Int64(text), integer.magnitude < RequestLimits.integerBound else {
                throw WireError(
                    .badRequest,
                    "id must be an integer below 2^53 in size, not \(text.excerpt())"
                )
            }
            return .integer(integer)
        case .some(let other):
            throw WireError(.badRequest, "id must be a string or an integer, not \(other.kind)")
        }
    }

    func string(_ key: String) throws(WireError) -> String? {
        guard let value = self[key] else { return nil }
        guard let string = value.string else { throw self.mismatch(key, "a string", value) }
        return string
    }

    /// A string for people to read, of bounded length.
    func text(_ key: String) throws(WireError) -> String? {
        let text = try self.string(key)
        guard (text?.utf8.count ?? 0) <= RequestLimits.causeBytes else {
            throw WireError(
                .tooLong,
                "\(key) is longer than \(RequestLimits.causeBytes) bytes of UTF-8"
            )
        }
        return text
    }

    func bool(_ key: String) throws(WireError) -> Bool? {
        guard let value = self[key] else { return nil }
        guard let bool = value.bool else { throw self.mismatch(key, "true or false", value) }
        return bool
    }

    /// An integer from 0 to 2^53 - 1, or to `limit`.
    func count(_ key: String, atMost limit: UInt64? = nil) throws(WireError) -> UInt64? {
        guard let value = self[key] else { return nil }
        guard let integer = value.integer, integer >= 0,
            integer < limit.map({ $0 + 1 }) ?? RequestLimits.integerBound
        else {
            let end = limit?.description ?? "2^53 - 1"
            throw self.mismatch(key, "an integer from 0 to \(end)", value)
        }
        return UInt64(integer)
    }

    /// One of a few words.
    func choice(_ key: String, of known: [String]) throws(WireError) -> String? {
        guard let value = self[key] else { return nil }
        guard let word = value.string, known.contains(where: { $0.isSpelled(word) }) else {
            throw self.mismatch(key, known.map(\.quoted).joined(separator: " or "), value)
        }
        return word
    }

    /// What was made of a key that has to be there.
    func needed<Value>(
        _ key: String,
        _ operation: String,
        _ value: Value?
    ) throws(WireError) -> Value {
        guard let value else {
            throw WireError(.badRequest, "\(operation) needs the key \(key.quoted)")
        }
        return value
    }

    func pattern(_ key: String) throws(WireError) -> Pattern? {
        guard let value = self[key] else { return nil }
        return try Pattern(value)
    }

    func patterns(_ key: String) throws(WireError) -> [Pattern]? {
        guard let value = self[key] else { return nil }
        guard let elements = value.elements else {
            throw self.mismatch(key, "an array of patterns", value)
        }
        guard !elements.isEmpty else {
            throw WireError(.badRequest, "\(key) is an empty list; it must name a state at least")
        }
        try Pattern.check(count: elements.count, in: key)
        var patterns: [Pattern] = []
        for element in elements { patterns.append(try Pattern(element)) }
        return patterns
    }

    private func mismatch(_ key: String, _ expected: String, _ value: JSONValue) -> WireError {
        WireError(
            .badRequest,
            "\(key) must be \(expected), not \([value].listed.excerpt())"
        )
    }
}
