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
        return members.first { $0.key == key }?.value
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
            if left == right { return true }
            guard let left = JSONDecimal(left), let right = JSONDecimal(right) else { return false }
            return left == right
        case (.array(let left), .array(let right)):
            return left.count == right.count
                && zip(left, right).allSatisfy { $0.isContained(in: $1) }
        case (.object(let members), .object):
            return members.allSatisfy { member in
                other[member.key].map { member.value.isContained(in: $0) } ?? false
            }
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _):
            return self == other
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
}
