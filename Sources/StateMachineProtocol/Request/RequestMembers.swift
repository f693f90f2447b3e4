/// The members of a request object to be written; those without a value are left out.
struct RequestMembers {
    private(set) var members: [JSONMember] = []

    mutating func add(_ key: RequestKey, _ value: JSONValue?) {
        guard let value else { return }
        self.members.append(JSONMember(key.rawValue, value))
    }

    mutating func add(_ key: RequestKey, _ text: String?) {
        self.add(key, text.map { .string($0) } as JSONValue?)
    }

    mutating func add(_ key: RequestKey, _ number: UInt64?) {
        self.add(key, number.map { .integer($0) } as JSONValue?)
    }

    /// An empty list counts as none.
    mutating func add(_ key: RequestKey, _ list: PatternList?) {
        guard let list, !list.isEmpty else { return }
        self.add(key, .array(list.patterns.map(\.written)))
    }

    /// The same, for a key that used to take one pattern: a single one is not written as a list.
    mutating func add(_ key: RequestKey, plainly list: PatternList?) {
        guard let list, list.count == 1 else { return self.add(key, list) }
        self.add(key, list.patterns[0].written)
    }
}
