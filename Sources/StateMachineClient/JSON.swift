import StateMachineProtocol

/// A JSON value that keeps the order of members and the spelling of numbers.
public struct JSON: Hashable, Sendable, CustomStringConvertible {
    /// A name and its value in an object.
    public struct Member: Hashable, Sendable {
        /// The name.
        public let key: String
        /// The value.
        public let value: JSON

        /// The value under that name.
        public init(_ key: String, _ value: JSON) {
            self.key = key
            self.value = value
        }
    }

    let value: JSONValue

    init(_ value: JSONValue) {
        self.value = value
    }

    /// The value of `text` if all of it is JSON, with no key twice in one object.
    public init?(parsing text: some StringProtocol) {
        guard let value = JSONParser.value(of: text) else { return nil }
        self.init(value)
    }

    /// What `text` means where people type values: itself if it is JSON, else a string.
    public init(typed text: some StringProtocol) {
        self = JSON(parsing: text) ?? .string(String(text))
    }

    /// `null`.
    public static let null = JSON(.null)

    /// A string.
    public static func string(_ string: String) -> JSON { JSON(.string(string)) }

    /// `true` or `false`.
    public static func bool(_ bool: Bool) -> JSON { JSON(.bool(bool)) }

    /// A number without a fraction.
    public static func integer(_ integer: some BinaryInteger) -> JSON {
        JSON(.number(String(integer)))
    }

    /// An array.
    public static func array(_ elements: [JSON]) -> JSON { JSON(.array(elements.map(\.value))) }

    /// An object, its members in that order; a daemon refuses a key that stands twice.
    public static func object(_ members: [Member]) -> JSON {
        JSON(.object(members.map { JSONMember($0.key, $0.value.value) }))
    }

    /// The string, if it is one.
    public var string: String? { self.value.string }

    /// The truth value, if it is one.
    public var bool: Bool? { self.value.bool }

    /// The number, if it is written as an integer that fits.
    public var integer: Int64? { self.value.integer }

    /// The elements, if it is an array.
    public var elements: [JSON]? { self.value.elements?.map { JSON($0) } }

    /// The members in their order, if it is an object.
    public var members: [Member]? {
        self.value.members?.map { Member($0.key, JSON($0.value)) }
    }

    /// The member of that name, if it is an object that has it.
    public subscript(_ key: String) -> JSON? { self.value[key].map { JSON($0) } }

    /// The value as JSON on one line, without white space; safe to show on a terminal.
    public var description: String {
        var bytes: [UInt8] = []
        bytes.append(json: self.value)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// A number.
    public init(integerLiteral value: Int) { self = .integer(value) }

    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }

    /// An object, its members in the order written.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
