/// The members of a request object, read by type.
struct RequestKeys {
    private let members: [JSONMember]
    /// The key of each member; nil if the protocol has none of that name.
    private let keys: [RequestKey?]

    init(_ members: [JSONMember]) {
        self.members = members
        self.keys = members.map { RequestKey(spelled: $0.key) }
    }

    subscript(_ key: RequestKey) -> JSONValue? {
        self.keys.firstIndex(of: key).map { self.members[$0].value }
    }

    /// Refuses keys that the operation does not know.
    func check(for operation: Operation) throws(WireError) {
        let known = operation.keys
        let odd = self.keys.firstIndex { key in
            guard let key else { return true }
            return key != .op && key != .id && !known.contains(key)
        }
        guard let odd else { return }
        let names = ([.op, .id] + known).map(\.rawValue)
        throw WireError(
            .badRequest,
            "\(operation.rawValue) has no key \(self.members[odd].key.quoted); "
                + "known: \(names.joined(separator: ", "))",
            known: names
        )
    }

    func id() throws(WireError) -> RequestID? {
        guard let value = self[.id] else { return nil }
        switch value {
        case .string(let string) where string.utf8.count > RequestLimits.idBytes:
            throw WireError(
                .badRequest,
                "id is longer than \(RequestLimits.idBytes) bytes of UTF-8"
            )
        case .number(let text)
        where (value.integer?.magnitude ?? .max) >= RequestLimits.integerBound:
            throw WireError(
                .badRequest,
                "id must be an integer below 2^53 in size, not \(text.excerpt())"
            )
        case .null, .bool, .number, .string, .array, .object:
            guard let id = RequestID(value) else {
                throw WireError(
                    .badRequest,
                    "id must be a string or an integer, not \(value.kind)"
                )
            }
            return id
        }
    }

    func string(_ key: RequestKey) throws(WireError) -> String? {
        guard let value = self[key] else { return nil }
        guard let string = value.string else { throw self.mismatch(key, "a string", value) }
        return string
    }

    /// A string for people to read, of bounded length.
    func text(_ key: RequestKey) throws(WireError) -> String? {
        let text = try self.string(key)
        guard (text?.utf8.count ?? 0) <= RequestLimits.causeBytes else {
            throw WireError(
                .tooLong,
                "\(key.rawValue) is longer than \(RequestLimits.causeBytes) bytes of UTF-8"
            )
        }
        return text
    }

    /// The name of a required guard or a hold: a word that needs no quoting in a command line.
    func requirement(_ key: RequestKey) throws(WireError) -> String? {
        guard let name = try self.string(key) else { return nil }
        guard RequestLimits.isRequirementName(name) else {
            throw self.mismatch(
                key,
                "1 to \(RequestLimits.requirementNameBytes) letters, digits and \"-_.:@\", "
                    + "a letter or a digit first",
                .string(name)
            )
        }
        return name
    }

    func bool(_ key: RequestKey) throws(WireError) -> Bool? {
        guard let value = self[key] else { return nil }
        guard let bool = value.bool else { throw self.mismatch(key, "true or false", value) }
        return bool
    }

    /// An integer from 0 to 2^53 - 1, or to `limit`.
    func count(_ key: RequestKey, atMost limit: UInt64? = nil) throws(WireError) -> UInt64? {
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
    func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ key: RequestKey,
        of type: Choice.Type
    ) throws(WireError) -> Choice? {
        guard let value = self[key] else { return nil }
        let known = type.allCases
        guard let word = value.string,
            let choice = known.first(where: { $0.rawValue.isSpelled(word) })
        else {
            let words = known.map(\.rawValue.quoted).joined(separator: " or ")
            throw self.mismatch(key, words, value)
        }
        return choice
    }

    /// The value of a key that is required.
    func needed<Value>(
        _ key: RequestKey,
        _ operation: Operation,
        _ value: Value?
    ) throws(WireError) -> Value {
        guard let value else {
            throw WireError(
                .badRequest,
                "\(operation.rawValue) needs the key \(key.rawValue.quoted)"
            )
        }
        return value
    }

    /// The value of `data`; null counts as none.
    var data: JSONValue? {
        guard let data = self[.data] else { return nil }
        return data == .null ? nil : data
    }

    /// Fields as words, none of which is in `data` as well.
    func words() throws(WireError) -> [JSONMember] {
        guard let value = self[.words] else { return [] }
        guard let words = value.members, words.allSatisfy({ $0.value.string != nil }) else {
            throw self.mismatch(.words, "an object of strings", value)
        }
        let given = Set((self.data?.members ?? []).map { Spelling($0.key) })
        if let doubled = words.first(where: { given.contains(Spelling($0.key)) }) {
            throw WireError(
                .badRequest,
                "\(doubled.key.quoted) is given in data and in words; give it once"
            )
        }
        return words
    }

    /// What an update adds: numbers, for fields that are neither in `data` nor in `words`.
    func amounts(besides words: [JSONMember]) throws(WireError) -> [JSONMember] {
        guard let value = self[.add] else { return [] }
        guard let amounts = value.members, amounts.allSatisfy({ $0.value.kind == "number" }) else {
            throw self.mismatch(.add, "an object of numbers", value)
        }
        let given = Set(((self.data?.members ?? []) + words).map { Spelling($0.key) })
        if let doubled = amounts.first(where: { given.contains(Spelling($0.key)) }) {
            throw WireError(
                .badRequest,
                "\(doubled.key.quoted) is to be set and to be added to; give it once"
            )
        }
        return amounts
    }

    /// A uid, or the name of a command or a unit.
    func actor(_ key: RequestKey) throws(WireError) -> HistoryCall.Actor? {
        switch self[key] {
        case nil: return nil
        case .string: return try self.text(key).map { .program($0) }
        case let value?:
            guard let uid = value.integer.flatMap({ UInt32(exactly: $0) }) else {
                throw self.mismatch(key, "a uid or the name of a command or a unit", value)
            }
            return .user(uid)
        }
    }

    /// A place among old changes.
    func place(_ key: RequestKey) throws(WireError) -> HistoryPlace? {
        guard let value = self[key] else { return nil }
        guard let place = HistoryPlace(value) else {
            throw self.mismatch(key, "a time (RFC 3339), a cursor or a seq", value)
        }
        return place
    }

    /// A pattern or a list of them.
    func patterns(_ key: RequestKey) throws(WireError) -> PatternList? {
        guard let value = self[key] else { return nil }
        let elements: [JSONValue]
        switch value {
        case .array(let several): elements = several
        case .string, .object: elements = [value]
        case .null, .bool, .number:
            throw self.mismatch(key, "a pattern or an array of patterns", value)
        }
        guard !elements.isEmpty else {
            throw WireError(
                .badRequest,
                "\(key.rawValue) is empty; name at least one state"
            )
        }
        try Pattern.check(count: elements.count, in: key.rawValue)
        return PatternList(
            try elements.map { (element) throws(WireError) in try Pattern(element) }
        )
    }

    private func mismatch(_ key: RequestKey, _ expected: String, _ value: JSONValue) -> WireError {
        WireError(
            .badRequest,
            "\(key.rawValue) must be \(expected), not \(value.description.excerpt())"
        )
    }
}
