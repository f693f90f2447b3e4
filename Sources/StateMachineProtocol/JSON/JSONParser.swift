/// Reads one JSON value (RFC 8259) and nothing after it but white space.
///
/// Strict: no trailing commas, no comments, no unpaired surrogates, UTF-8 only. The RFC leaves a
/// key that appears twice in one object open; it is remembered, and the caller decides.
package struct JSONParser {
    /// How deep arrays and objects may be nested.
    ///
    /// 64: far beyond any state, and a hundredth of what the stack holds. Not tuned.
    private static let depthLimit = 64

    /// Up to this many members a new key is compared with each of them; beyond that, hashes are
    /// kept.
    ///
    /// 16: no request of the protocol has more. With comparisons alone, one long line of short keys
    /// could cost the server tens of millions of them.
    private static let comparedKeys = 16

    private var scanner: JSONScanner
    private let valueLimit: Int
    private var values = 0

    /// The first key that appears twice in one object, if there is one.
    package private(set) var doubledKey: String?

    /// A parser of a text with at most `valueLimit` values, nested ones included.
    package init(_ bytes: [UInt8], valueLimit: Int = .max) {
        self.scanner = JSONScanner(bytes)
        self.valueLimit = valueLimit
    }

    package mutating func parse() throws(JSONSyntaxError) -> JSONValue {
        self.scanner.skipWhiteSpace()
        let value = try self.parseValue(depth: 0)
        self.scanner.skipWhiteSpace()
        guard self.scanner.isAtEnd else {
            throw self.scanner.error("unexpected text after the value")
        }
        return value
    }

    private mutating func parseValue(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard let byte = self.scanner.current else {
            throw self.scanner.error("the line ends where a value was expected")
        }
        self.values += 1
        guard self.values <= self.valueLimit else {
            throw self.scanner.error("there are more than \(self.valueLimit) values")
        }
        switch byte {
        case UInt8(ascii: "{"): return try self.parseObject(depth: depth)
        case UInt8(ascii: "["): return try self.parseArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try self.scanner.parseString())
        case UInt8(ascii: "t"): return try self.scanner.parse("true", as: .bool(true))
        case UInt8(ascii: "f"): return try self.scanner.parse("false", as: .bool(false))
        case UInt8(ascii: "n"): return try self.scanner.parse("null", as: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(try self.scanner.parseNumber())
        default: throw self.scanner.error("a value was expected")
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        var members: [JSONMember] = []
        var keys: Set<Spelling> = []
        try self.parseList(UInt8(ascii: "}"), "',' or '}' was expected", depth: depth) {
            (parser) throws(JSONSyntaxError) in
            // As many as most requests have.
            if members.isEmpty { members.reserveCapacity(4) }
            guard parser.scanner.current == UInt8(ascii: "\"") else {
                throw parser.scanner.error("a key was expected")
            }
            let key = try parser.scanner.parseString()
            parser.scanner.skipWhiteSpace()
            guard parser.scanner.current == UInt8(ascii: ":") else {
                throw parser.scanner.error("':' was expected")
            }
            parser.scanner.advance()
            parser.scanner.skipWhiteSpace()
            if parser.doubledKey == nil && !Self.isNew(key, members, &keys) {
                parser.doubledKey = key
            }
            members.append(JSONMember(key, try parser.parseValue(depth: depth + 1)))
        }
        return .object(members)
    }

    private static func isNew(
        _ key: String,
        _ members: [JSONMember],
        _ keys: inout Set<Spelling>
    ) -> Bool {
        guard members.count >= self.comparedKeys else {
            return !members.contains { $0.key.isSpelled(key) }
        }
        if keys.isEmpty { keys = Set(members.map { Spelling($0.key) }) }
        return keys.insert(Spelling(key)).inserted
    }

    private mutating func parseArray(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        var elements: [JSONValue] = []
        try self.parseList(UInt8(ascii: "]"), "',' or ']' was expected", depth: depth) {
            (parser) throws(JSONSyntaxError) in
            elements.append(try parser.parseValue(depth: depth + 1))
        }
        return .array(elements)
    }

    /// What stands between brackets, with commas between; `element` begins where one does.
    private mutating func parseList(
        _ end: UInt8,
        _ expectation: String,
        depth: Int,
        _ element: (inout Self) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) {
        guard depth < Self.depthLimit else {
            throw self.scanner.error(
                "nested too deeply; at most \(Self.depthLimit) levels are allowed"
            )
        }
        self.scanner.advance()
        self.scanner.skipWhiteSpace()
        var isOver = self.scanner.current == end
        while !isOver {
            self.scanner.skipWhiteSpace()
            try element(&self)
            self.scanner.skipWhiteSpace()
            isOver = self.scanner.current == end
            guard isOver || self.scanner.current == UInt8(ascii: ",") else {
                throw self.scanner.error(expectation)
            }
            if !isOver { self.scanner.advance() }
        }
        self.scanner.advance()
    }
}
