/// Where a line stops being JSON, and why.
package struct JSONSyntaxError: Error, Hashable {
    /// The byte in the line, from 0.
    package let offset: Int
    package let message: String
}

/// Reads one JSON value (RFC 8259) and nothing after it but white space.
///
/// Strict: no trailing commas, no comments, no unpaired surrogates, UTF-8 only. A key twice in one
/// object is syntax that the RFC leaves open; it is remembered, and the caller decides.
package struct JSONParser {
    /// How deep arrays and objects may be nested.
    ///
    /// 64: far beyond any state, and a hundred times less than what the stack holds. Not tuned.
    private static let depthLimit = 64

    /// Up to how many members a new key is compared with each of them; past it, hashes are kept.
    ///
    /// 16: no request of the protocol has more. Comparing alone would let one long line of short
    /// keys take the server tens of millions of comparisons.
    private static let comparedKeys = 16

    let bytes: [UInt8]
    var position: Int
    private let valueLimit: Int
    private var values = 0

    /// The first key that stands twice in one object, if there is one.
    package private(set) var doubledKey: String?

    /// A parser of a text with so many values in it at the most, those inside others counted.
    package init(_ bytes: [UInt8], valueLimit: Int = .max) {
        self.bytes = bytes
        self.position = 0
        self.valueLimit = valueLimit
    }

    package mutating func parse() throws(JSONSyntaxError) -> JSONValue {
        self.skipWhiteSpace()
        let value = try self.parseValue(depth: 0)
        self.skipWhiteSpace()
        guard self.position == self.bytes.count else {
            throw self.error("something follows the value")
        }
        return value
    }

    var current: UInt8? {
        self.position < self.bytes.count ? self.bytes[self.position] : nil
    }

    func error(_ message: String) -> JSONSyntaxError {
        JSONSyntaxError(offset: self.position, message: message)
    }

    private mutating func skipWhiteSpace() {
        while let byte = self.current, byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) {
            // RFC 8259 knows space, tab, LF and CR.
            guard byte != 0x0B && byte != 0x0C else { return }
            self.position += 1
        }
    }

    private mutating func parseValue(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard let byte = self.current else {
            throw self.error("the line ends where a value was expected")
        }
        self.values += 1
        guard self.values <= self.valueLimit else {
            throw self.error("there are more than \(self.valueLimit) values")
        }
        switch byte {
        case UInt8(ascii: "{"): return try self.parseObject(depth: depth)
        case UInt8(ascii: "["): return try self.parseArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try self.parseString())
        case UInt8(ascii: "t"): return try self.parse("true", as: .bool(true))
        case UInt8(ascii: "f"): return try self.parse("false", as: .bool(false))
        case UInt8(ascii: "n"): return try self.parse("null", as: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(try self.parseNumber())
        default: throw self.error("a value was expected")
        }
    }

    private mutating func parse(
        _ word: StaticString,
        as value: JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        let start = self.position
        for index in 0..<word.utf8CodeUnitCount {
            guard self.current == word.utf8Start[index] else {
                self.position = start
                throw self.error("a value was expected")
            }
            self.position += 1
        }
        return value
    }

    private mutating func parseObject(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        try self.checkDepth(depth)
        self.position += 1
        var members: [JSONMember] = []
        var keys: Set<Spelling> = []
        self.skipWhiteSpace()
        if self.current == UInt8(ascii: "}") {
            self.position += 1
            return .object(members)
        }
        while true {
            self.skipWhiteSpace()
            guard self.current == UInt8(ascii: "\"") else { throw self.error("a key was expected") }
            let key = try self.parseString()
            self.skipWhiteSpace()
            guard self.current == UInt8(ascii: ":") else { throw self.error("':' was expected") }
            self.position += 1
            self.skipWhiteSpace()
            if self.doubledKey == nil && !Self.isNew(key, members, &keys) { self.doubledKey = key }
            members.append(JSONMember(key, try self.parseValue(depth: depth + 1)))
            if try self.isListEnd(UInt8(ascii: "}"), "',' or '}' was expected") { break }
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
        try self.checkDepth(depth)
        self.position += 1
        var elements: [JSONValue] = []
        self.skipWhiteSpace()
        if self.current == UInt8(ascii: "]") {
            self.position += 1
            return .array(elements)
        }
        while true {
            self.skipWhiteSpace()
            elements.append(try self.parseValue(depth: depth + 1))
            if try self.isListEnd(UInt8(ascii: "]"), "',' or ']' was expected") { break }
        }
        return .array(elements)
    }

    private func checkDepth(_ depth: Int) throws(JSONSyntaxError) {
        guard depth < Self.depthLimit else {
            throw self.error("nested deeper than \(Self.depthLimit)")
        }
    }

    private mutating func isListEnd(
        _ end: UInt8,
        _ message: String
    ) throws(JSONSyntaxError) -> Bool {
        self.skipWhiteSpace()
        guard self.current == end || self.current == UInt8(ascii: ",") else {
            throw self.error(message)
        }
        defer { self.position += 1 }
        return self.current == end
    }

    private mutating func parseNumber() throws(JSONSyntaxError) -> String {
        let start = self.position
        if self.current == UInt8(ascii: "-") { self.position += 1 }
        if self.current == UInt8(ascii: "0") {
            self.position += 1
        } else {
            try self.skipDigits()
        }
        if self.current == UInt8(ascii: ".") {
            self.position += 1
            try self.skipDigits()
        }
        if self.current == UInt8(ascii: "e") || self.current == UInt8(ascii: "E") {
            self.position += 1
            if self.current == UInt8(ascii: "+") || self.current == UInt8(ascii: "-") {
                self.position += 1
            }
            try self.skipDigits()
        }
        return String(decoding: self.bytes[start..<self.position], as: UTF8.self)
    }

    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = self.position
        while let byte = self.current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            self.position += 1
        }
        guard self.position > start else { throw self.error("a digit was expected") }
    }
}
