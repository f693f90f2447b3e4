/// Reads one JSON value (RFC 8259) and nothing after it but white space.
///
/// Strict: no trailing commas, no comments, no unpaired surrogates, UTF-8 only. The RFC leaves a
/// key that appears twice in one object open; it is remembered, and the caller decides.
package struct JSONParser {
    private let bytes: [UInt8]
    private let valueLimit: Int
    private let isRequest: Bool

    /// The first key that appears twice in one object, if there is one.
    package private(set) var doubledKey: String?

    /// A parser of a text of less than 2 GiB, with at most `valueLimit` values, nested ones included.
    package init(_ bytes: [UInt8], valueLimit: Int = Int(UInt32.max)) {
        self.init(bytes, valueLimit: valueLimit, isRequest: false)
    }

    /// The parser of a request's line, whose outermost keys are told apart while they are read.
    init(request line: [UInt8]) {
        self.init(line, valueLimit: RequestLimits.values, isRequest: true)
    }

    private init(_ bytes: [UInt8], valueLimit: Int, isRequest: Bool) {
        self.bytes = bytes
        self.valueLimit = valueLimit
        self.isRequest = isRequest
    }

    /// The value, made at once.
    package mutating func parse() throws(JSONSyntaxError) -> JSONValue { try self.read().value }

    /// The text with the places of its values.
    mutating func read() throws(JSONSyntaxError) -> JSONText {
        let (bytes, valueLimit, isRequest) = (self.bytes, self.valueLimit, self.isRequest)
        var (doubledKey, unescaped) = (String?.none, [UInt8]())
        var failure: JSONSyntaxError?
        let parts = bytes.withUnsafeBufferPointer { bytes in
            withUnsafeTemporaryAllocation(
                of: JSONPart.self,
                capacity: JSONReading.mostParts(in: bytes.count)
            ) { memory in
                var parts = OutputSpan(buffer: memory, initializedCount: 0)
                var reading = JSONReading(bytes, valueLimit: valueLimit, isRequest: isRequest)
                do throws(JSONSyntaxError) {
                    try reading.readAll(&parts)
                } catch {
                    failure = error
                }
                // Most texts have neither.
                if reading.doubledKey != nil { doubledKey = reading.doubledKey }
                if reading.scanner.hasUnescaped { unescaped = reading.scanner.unescaped }
                let count = parts.finalize(for: memory)
                return Array(memory[..<count])
            }
        }
        if let failure { throw failure }
        self.doubledKey = doubledKey
        return JSONText(unescaped.isEmpty ? bytes : bytes + unescaped, parts)
    }
}

/// The values of a text, while they are read; its memory is the caller's.
private struct JSONReading {
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

    private(set) var scanner: JSONScanner
    private(set) var doubledKey: String?
    private let valueLimit: Int
    private var values = 0
    private let isRequest: Bool

    init(_ bytes: UnsafeBufferPointer<UInt8>, valueLimit: Int, isRequest: Bool) {
        self.scanner = JSONScanner(bytes)
        self.valueLimit = valueLimit
        self.isRequest = isRequest
    }

    /// How many parts a text of that length has at most: each takes a byte and a separator, but for lists that have not
    /// ended and the last.
    static func mostParts(in length: Int) -> Int { (length + self.depthLimit) / 2 + 1 }

    mutating func readAll(_ parts: inout OutputSpan<JSONPart>) throws(JSONSyntaxError) {
        self.scanner.skipWhiteSpace()
        try self.readValue(into: &parts, depth: 0)
        self.scanner.skipWhiteSpace()
        guard self.scanner.isAtEnd else {
            throw self.scanner.error("unexpected text after the value")
        }
    }

    private mutating func readValue(
        into parts: inout OutputSpan<JSONPart>,
        depth: Int
    ) throws(JSONSyntaxError) {
        guard let byte = self.scanner.current else {
            throw self.scanner.error("the line ends where a value was expected")
        }
        self.values += 1
        guard self.values <= self.valueLimit else {
            throw self.scanner.error("there are more than \(self.valueLimit) values")
        }
        switch byte {
        case UInt8(ascii: "{"): try self.readObject(into: &parts, depth: depth)
        case UInt8(ascii: "["): try self.readArray(into: &parts, depth: depth)
        case UInt8(ascii: "\""): parts.append(.string, try self.scanner.skipString())
        case UInt8(ascii: "t"): parts.append(.true, try self.scanner.skip("true"))
        case UInt8(ascii: "f"): parts.append(.false, try self.scanner.skip("false"))
        case UInt8(ascii: "n"): parts.append(.null, try self.scanner.skip("null"))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            parts.append(.number, try self.scanner.skipNumber())
        default: throw self.scanner.error("a value was expected")
        }
    }

    private mutating func readArray(
        into parts: inout OutputSpan<JSONPart>,
        depth: Int
    ) throws(JSONSyntaxError) {
        let array = parts.count
        try self.begin(.array, in: &parts, depth: depth)
        let end = UInt8(ascii: "]")
        var isOver = self.scanner.current == end
        while !isOver {
            self.scanner.skipWhiteSpace()
            try self.readValue(into: &parts, depth: depth + 1)
            isOver = try self.isOver(end, "',' or ']' was expected")
        }
        self.end(array, in: &parts)
    }

    private mutating func readObject(
        into parts: inout OutputSpan<JSONPart>,
        depth: Int
    ) throws(JSONSyntaxError) {
        let object = parts.count
        try self.begin(.object, in: &parts, depth: depth)
        var keys = SeenKeys()
        let end = UInt8(ascii: "}")
        var isOver = self.scanner.current == end
        while !isOver {
            self.scanner.skipWhiteSpace()
            let key = parts.count
            try self.readKey(into: &parts, isOutermost: depth == 0)
            if self.doubledKey == nil, !self.isNew(key, of: object, in: parts, &keys) {
                self.doubledKey = self.scanner.text(parts[key])
            }
            try self.readValue(into: &parts, depth: depth + 1)
            isOver = try self.isOver(end, "',' or '}' was expected")
        }
        self.end(object, in: &parts)
    }

    private mutating func readKey(
        into parts: inout OutputSpan<JSONPart>,
        isOutermost: Bool
    ) throws(JSONSyntaxError) {
        guard self.scanner.current == UInt8(ascii: "\"") else {
            throw self.scanner.error("a key was expected")
        }
        parts.append(.string, try self.scanner.skipString())
        if isOutermost && self.isRequest {
            let key = parts.count - 1
            parts[key].key = self.scanner.word(parts[key]).flatMap { RequestKey.table[$0] }
        }
        self.scanner.skipWhiteSpace()
        guard self.scanner.current == UInt8(ascii: ":") else {
            throw self.scanner.error("':' was expected")
        }
        self.scanner.advance()
        self.scanner.skipWhiteSpace()
    }

    /// The keys of an object so far.
    private struct SeenKeys {
        var count = 0
        /// A bit for each length and first letter that was there, of 64.
        var kinds: UInt64 = 0
        /// All of them, once they are too many to be compared.
        var spellings: Set<Spelling> = []
    }

    /// Whether none of the object's keys before it is the same.
    private func isNew(
        _ key: Int,
        of object: Int,
        in parts: borrowing OutputSpan<JSONPart>,
        _ seen: inout SeenKeys
    ) -> Bool {
        let kind = self.scanner.kind(of: parts[key])
        let isHashed = seen.count >= Self.comparedKeys
        // Most keys are told apart by their first letter and their length.
        let isOfNewKind = seen.kinds & kind == 0
        seen.kinds |= kind
        seen.count += 1
        guard isHashed || !isOfNewKind else { return true }
        if !isHashed || seen.spellings.isEmpty {
            var other = object + 1
            while other < key {
                if isHashed { seen.spellings.insert(Spelling(self.scanner.text(parts[other]))) }
                if self.scanner.areSame(parts[other], parts[key]) { return false }
                other = Int(parts[other + 1].next)
            }
        }
        return !isHashed || seen.spellings.insert(Spelling(self.scanner.text(parts[key]))).inserted
    }

    private mutating func begin(
        _ kind: JSONPart.Kind,
        in parts: inout OutputSpan<JSONPart>,
        depth: Int
    ) throws(JSONSyntaxError) {
        guard depth < Self.depthLimit else {
            throw self.scanner.error(
                "nested too deeply; at most \(Self.depthLimit) levels are allowed"
            )
        }
        parts.append(kind, self.scanner.position..<self.scanner.position)
        self.scanner.advance()
        self.scanner.skipWhiteSpace()
    }

    /// Whether an array or an object ends behind its element, or a comma follows, which is skipped.
    private mutating func isOver(
        _ end: UInt8,
        _ expectation: String
    ) throws(JSONSyntaxError) -> Bool {
        self.scanner.skipWhiteSpace()
        let isOver = self.scanner.current == end
        guard isOver || self.scanner.current == UInt8(ascii: ",") else {
            throw self.scanner.error(expectation)
        }
        if !isOver { self.scanner.advance() }
        return isOver
    }

    private mutating func end(_ list: Int, in parts: inout OutputSpan<JSONPart>) {
        self.scanner.advance()
        parts[list].end = UInt32(truncatingIfNeeded: self.scanner.position)
        parts[list].next = UInt32(truncatingIfNeeded: parts.count)
    }
}

extension OutputSpan<JSONPart> {
    /// Appends one with nothing in it.
    fileprivate mutating func append(_ kind: JSONPart.Kind, _ range: Range<Int>) {
        self.append(
            JSONPart(
                kind: kind,
                start: UInt32(truncatingIfNeeded: range.lowerBound),
                end: UInt32(truncatingIfNeeded: range.upperBound),
                next: UInt32(truncatingIfNeeded: self.count &+ 1)
            )
        )
    }
}
