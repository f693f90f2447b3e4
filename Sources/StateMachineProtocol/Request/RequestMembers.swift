/// The members of a request object as they are written; what has no value is left out.
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

    /// No patterns are as good as none given.
    mutating func add(_ key: RequestKey, _ list: PatternList?) {
        guard let list, !list.isEmpty else { return }
        self.add(key, .array(list.patterns.map(\.written)))
    }

    /// The same, for what was one pattern once: one alone is no list.
    mutating func add(_ key: RequestKey, plainly list: PatternList?) {
        guard let list, list.count == 1 else { return self.add(key, list) }
        self.add(key, list.patterns[0].written)
    }
}
