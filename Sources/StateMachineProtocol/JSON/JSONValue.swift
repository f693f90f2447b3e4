/// A JSON value that keeps what JSON text keeps: the order of members and the spelling of numbers.
///
/// Two values are equal if they are spelled the same; `1` and `1.0` are not (see ``equals(_:)``).
public enum JSONValue: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// The number as it was written; nothing is rounded.
    case number(String)
    /// A string, without its quotes and escapes.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object, its members in order; a daemon refuses a key that appears twice.
    case object([JSONMember])

    /// A number without a fraction.
    public static func integer(_ integer: some BinaryInteger) -> JSONValue {
        .number(String(integer))
    }

    /// The value of `text` if it is JSON as a whole, with no key twice in one object.
    public init?(parsing text: some StringProtocol) {
        var parser = JSONParser(Array(text.utf8))
        guard let value = try? parser.parse(), parser.doubledKey == nil else {
            // Not JSON; the caller takes the text as it is.
            return nil
        }
        self = value
    }

    /// The first key that `text` has twice in one object, if it is JSON otherwise.
    package static func doubledKey(in text: some StringProtocol) -> String? {
        var parser = JSONParser(Array(text.utf8))
        return (try? parser.parse()) == nil ? nil : parser.doubledKey
    }

    /// The meaning of `text` where people type values: itself if it is JSON, else a string.
    public init(typed text: some StringProtocol) {
        self = JSONValue(parsing: text) ?? .string(String(text))
    }

    /// The JSON name of this kind of value.
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

    /// The member of that name, if this is an object with one.
    public subscript(_ key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key.isSpelled(key) }?.value
    }

    /// The string, if it is one.
    public var string: String? {
        guard case .string(let string) = self else { return nil }
        return string
    }

    /// The truth value, if it is one.
    public var bool: Bool? {
        guard case .bool(let bool) = self else { return nil }
        return bool
    }

    /// The number, if it is written as an integer that fits.
    public var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text)
    }

    /// The members in their order, if it is an object.
    public var members: [JSONMember]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The elements, if it is an array.
    public var elements: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}

// Strings and numbers are equal if they are spelled the same.
extension JSONValue {
    /// Whether both are spelled the same.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
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

    /// Hashes the spelling.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let bool): hasher.combine(bool)
        case .number(let text), .string(let text): text.hashSpelling(into: &hasher)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON on one line, without white space; safe to show on a terminal.
    public var description: String { LineWriter.text { $0.json(self) } }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// A number.
    public init(integerLiteral value: Int) { self = .integer(value) }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// An object, its members in the order written.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { JSONMember($0.0, $0.1) })
    }
}

extension [JSONValue] {
    /// The values as JSON, with commas between.
    package var listed: String { self.map(\.description).joined(separator: ", ") }
}

/// A name and its value in a JSON object.
public struct JSONMember: Hashable, Sendable {
    /// The name.
    public let key: String
    /// The value.
    public let value: JSONValue

    /// The value under that name.
    public init(_ key: String, _ value: JSONValue) {
        self.key = key
        self.value = value
    }

    /// Whether both are spelled the same.
    public static func == (left: JSONMember, right: JSONMember) -> Bool {
        left.key.isSpelled(right.key) && left.value == right.value
    }

    /// Hashes the spelling.
    public func hash(into hasher: inout Hasher) {
        self.key.hashSpelling(into: &hasher)
        hasher.combine(self.value)
    }
}

/// The members of an object, for repeated lookups.
struct JSONMembers {
    /// Up to this many members a lookup is linear; beyond that, there is a table.
    ///
    /// 16: states have fewer. With linear lookups alone, a long line of short keys could cost tens
    /// of millions of comparisons.
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

extension JSONValue {
    /// Whether both have the same value: `1` and `1.0` do, and objects with the same members in
    /// another order; `==` compares the spelling.
    package func equals(_ other: JSONValue) -> Bool { self.isContained(in: other, wholly: true) }

    /// Whether `other` has everything that this value asks for: equal values, numbers by value; an
    /// object may have further members.
    package func isContained(in other: JSONValue) -> Bool {
        self.isContained(in: other, wholly: false)
    }

    private func isContained(in other: JSONValue, wholly isWhole: Bool) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)): return Self.areEqual(left, right)
        case (.array(let left), .array(let right)):
            return left.count == right.count
                && zip(left, right).allSatisfy { $0.isContained(in: $1, wholly: isWhole) }
        case (.object(let members), .object(let others)):
            guard !isWhole || members.count == others.count else { return false }
            let others = JSONMembers(others)
            return members.allSatisfy { member in
                others[member.key].map { member.value.isContained(in: $0, wholly: isWhole) }
                    ?? false
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
        if let left = Int64(left), let right = Int64(right) { return left == right }
        guard let left = JSONDecimal(left), let right = JSONDecimal(right) else { return false }
        return left == right
    }
}

extension JSONValue {
    /// A scalar's text without quotes, anything else as JSON.
    package var plainText: String {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let bool): bool ? "true" : "false"
        case .null, .array, .object: [self].listed
        }
    }
}
