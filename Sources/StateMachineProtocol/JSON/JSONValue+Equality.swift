extension JSONValue {
    /// Whether both have the same value: `1` and `1.0` do, and objects with the same members in
    /// another order; `==` compares the spelling.
    package func equals(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)): return Self.areEqual(left, right)
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.equals($1) }
        case (.object(let members), .object(let others)):
            guard members.count == others.count else { return false }
            let others = JSONMembers(others)
            return members.allSatisfy { member in
                others[member.key].map { member.value.equals($0) } ?? false
            }
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _):
            return self == other
        }
    }

    /// Hashes what ``equals(_:)`` compares.
    package func hashValue(into hasher: inout Hasher) {
        switch self {
        case .number(let text):
            hasher.combine(1)
            if let number = JSONDecimal(text) {
                hasher.combine(number)
            } else {
                text.hashSpelling(into: &hasher)
            }
        case .array(let elements):
            hasher.combine(2)
            for element in elements { element.hashValue(into: &hasher) }
        case .object(let members):
            // In no order.
            hasher.combine(3)
            hasher.combine(
                members.reduce(into: 0) { sum, member in
                    var own = Hasher()
                    member.key.hashSpelling(into: &own)
                    member.value.hashValue(into: &own)
                    sum &+= own.finalize()
                }
            )
        case .null, .bool, .string: self.hash(into: &hasher)
        }
    }

    static func areEqual(_ left: String, _ right: String) -> Bool {
        if left.isSpelled(right) { return true }
        guard let left = JSONDecimal(left), let right = JSONDecimal(right) else { return false }
        return left == right
    }
}
