/// A JSON value that keeps what JSON keeps: the order of members and the spelling of numbers.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// The number as it was written; nothing is rounded.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// What JSON calls this kind of value.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// The member of that name, if this is an object that has it.
    package subscript(_ key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key.isSpelled(key) }?.value
    }

    package var string: String? {
        guard case .string(let string) = self else { return nil }
        return string
    }

    package var bool: Bool? {
        guard case .bool(let bool) = self else { return nil }
        return bool
    }

    /// The number, if it is written as an integer that fits.
    package var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text)
    }

    package var members: [JSONMember]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    package var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// Whether `other` has all that this value asks for: equal, numbers by their value, and an
    /// object may have members that are not asked for.
    package func isContained(in other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)):
            if left.isSpelled(right) { return true }
            guard let left = JSONDecimal(left), let right = JSONDecimal(right) else { return false }
            return left == right
        case (.array(let left), .array(let right)):
            return left.count == right.count
                && zip(left, right).allSatisfy { $0.isContained(in: $1) }
        case (.object(let members), .object(let others)):
            let others = JSONMembers(others)
            return members.allSatisfy { member in
                others[member.key].map { member.value.isContained(in: $0) } ?? false
            }
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _):
            return self == other
        }
    }
}

// Texts and numbers are equal if they are written the same.
extension JSONValue {
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left.isSpelled(right)
        case (.string(let left), .string(let right)): left.isSpelled(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let bool): hasher.combine(bool)
        case .number(let text), .string(let text): text.hashSpelling(into: &hasher)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

/// A name and its value in a JSON object.
package struct JSONMember: Hashable, Sendable {
    package let key: String
    package let value: JSONValue

    package init(_ key: String, _ value: JSONValue) {
        self.key = key
        self.value = value
    }

    package static func == (left: JSONMember, right: JSONMember) -> Bool {
        left.key.isSpelled(right.key) && left.value == right.value
    }

    package func hash(into hasher: inout Hasher) {
        self.key.hashSpelling(into: &hasher)
        hasher.combine(self.value)
    }
}

/// The members of an object, to be looked up again and again.
struct JSONMembers {
    /// Up to how many are looked through one by one; past it, there is a table.
    ///
    /// 16: states have fewer. One by one alone, a long line of short keys would take tens of millions of
    /// comparisons.
    private static let comparedMembers = 16

    private let members: [JSONMember]
    private let table: [Spelling: JSONValue]

    init(_ members: [JSONMember]) {
        self.members = members
        self.table =
            members.count > Self.comparedMembers
            ? Dictionary(members.map { (Spelling($0.key), $0.value) }) { first, _ in first } : [:]
    }

    /// The first of that name.
    subscript(_ key: String) -> JSONValue? {
        guard self.table.isEmpty else { return self.table[Spelling(key)] }
        return self.members.first { $0.key.isSpelled(key) }?.value
    }
}
