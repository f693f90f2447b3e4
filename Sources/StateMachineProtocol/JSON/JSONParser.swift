/// Reads one JSON value (RFC 8259) and nothing after it but white space.
///
/// Strict: no trailing commas, no comments, no unpaired surrogates, UTF-8 only. The RFC leaves a
/// key that appears twice in one object open; it is remembered, and the caller decides.
package struct JSONParser {
    private let bytes: [UInt8]
    private let valueLimit: Int

    /// The first key that appears twice in one object, if there is one.
    package private(set) var doubledKey: String?

    /// A parser of a text of less than 2 GiB, with at most `valueLimit` values, nested ones included.
    package init(_ bytes: [UInt8], valueLimit: Int = Int(UInt32.max)) {
        self.bytes = bytes
        self.valueLimit = valueLimit
    }

    /// The value, made at once.
    package mutating func parse() throws(JSONSyntaxError) -> JSONValue {
        let limit = self.valueLimit
        let read = try self.bytes.withUnsafeBufferPointer { (bytes) throws(JSONSyntaxError) in
            try JSONReading.read(bytes, valueLimit: limit)
        }
        self.doubledKey = read.text.doubledKey
        return read.text.value
    }
}

/// The values of a text, while they are read.
struct JSONReading {
    /// How deep arrays and objects may be nested.
    ///
    /// 64: far beyond any state, and a hundredth of what the stack holds. Not tuned.
    private static let depthLimit = 64

    /// Up to this many members a new key is compared with each of them; where there are more, all are hashed at the end.
    ///
    /// 16: no request of the protocol has more. With comparisons alone, one long line of short keys
    /// could cost the server tens of millions of them.
    private static let comparedKeys = 16

    private var scanner: JSONScanner
    /// The place of the first key that appears twice in one object; 0 if none does.
    private var doubled = 0
    private var places = RequestPlaces()
    private let valueLimit: Int
    private var values = 0
    private let isRequest: Bool
    /// Whether it ended because there is no room for more parts.
    private var lacksRoom = false

    private init(_ scanner: JSONScanner, _ valueLimit: Int, _ isRequest: Bool) {
        self.scanner = scanner
        self.valueLimit = valueLimit
        self.isRequest = isRequest
    }

    /// Reads a text, with memory for so many parts at first; of a request the outermost keys are noted.
    static func read(
        _ bytes: UnsafeBufferPointer<UInt8>,
        valueLimit: Int,
        isRequest: Bool = false,
        room: Int = Self.fewParts
    ) throws(JSONSyntaxError) -> (text: JSONText, places: RequestPlaces) {
        let stride = MemoryLayout<JSONPart>.stride
        // A whole number of parts from the beginning, so that each lies as it has to.
        let start = (2 * bytes.count + stride) / stride * stride
        var lacksRoom = false
        do throws(JSONSyntaxError) {
            return try withUnsafeTemporaryAllocation(
                byteCount: start + room * stride,
                alignment: MemoryLayout<JSONPart>.alignment
            ) { (memory) throws(JSONSyntaxError) in
                memory.copyMemory(from: UnsafeRawBufferPointer(bytes))
                memory[bytes.count] = 0
                let partMemory = UnsafeMutableRawBufferPointer(rebasing: memory[start...])
                    .bindMemory(to: JSONPart.self)
                var parts = OutputSpan(buffer: partMemory, initializedCount: 0)
                let scanner = JSONScanner(memory.baseAddress.unsafelyUnwrapped, count: bytes.count)
                var reading = JSONReading(scanner, valueLimit, isRequest)
                defer { lacksRoom = reading.lacksRoom }
                try reading.readAll(&parts)
                let end = start + parts.finalize(for: partMemory) * stride
                let all = Array(UnsafeRawBufferPointer(rebasing: memory[..<end]))
                let text = JSONText(all, partsFrom: start, doubled: reading.doubled)
                return (text, reading.places)
            }
        } catch {
            guard lacksRoom else { throw error }
            let most = self.mostParts(in: bytes.count)
            precondition(room < most, "a text has more parts than it can have")
            return try self.read(bytes, valueLimit: valueLimit, isRequest: isRequest, room: most)
        }
    }

    /// How many parts most texts have at most.
    ///
    /// 32: of what is set most often, half; with a line of 200 bytes, less than the kilobyte that Swift puts on the stack.
    private static let fewParts = 32

    /// How many parts there has to be room for in a text of that length.
    ///
    /// Each takes a byte and a separator, but for lists that have not ended and the last; two more, since each is read only
    /// if there is room for it and for a key behind it.
    private static func mostParts(in length: Int) -> Int { (length + self.depthLimit) / 2 + 3 }

    private mutating func readAll(_ parts: inout OutputSpan<JSONPart>) throws(JSONSyntaxError) {
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
        guard !self.scanner.isAtEnd else {
            throw self.scanner.error("the line ends where a value was expected")
        }
        self.values += 1
        guard self.values <= self.valueLimit else {
            throw self.scanner.error("there are more than \(self.valueLimit) values")
        }
        // One for it, and one for the key that may follow.
        guard parts.freeCapacity >= 2 else {
            self.lacksRoom = true
            throw self.scanner.error("there is no room")
        }
        switch self.scanner.current {
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
            try self.readKey(into: &parts)
            let isNew =
                self.isRequest && depth == 0
                ? self.isNew(requestKey: key, of: object, in: parts, &keys)
                : self.isNew(key, of: object, in: parts, &keys)
            if !isNew { self.noteDoubled(key) }
            try self.readValue(into: &parts, depth: depth + 1)
            isOver = try self.isOver(end, "',' or '}' was expected")
        }
        if keys.count > Self.comparedKeys { self.compareAll(of: object, in: parts) }
        self.end(object, in: &parts)
    }

    private mutating func readKey(
        into parts: inout OutputSpan<JSONPart>
    ) throws(JSONSyntaxError) {
        guard self.scanner.current == UInt8(ascii: "\"") else {
            throw self.scanner.error("a key was expected")
        }
        parts.append(.string, try self.scanner.skipString())
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
    }

    private mutating func noteDoubled(_ key: Int) {
        if self.doubled == 0 || key < self.doubled { self.doubled = key }
    }

    /// Notes the first of an object's keys that is the same as one before it.
    private mutating func compareAll(of object: Int, in parts: borrowing OutputSpan<JSONPart>) {
        var (seen, key) = (Set<Spelling>(), object + 1)
        while key < parts.count {
            guard seen.insert(Spelling(self.scanner.text(parts[key]))).inserted else {
                return self.noteDoubled(key)
            }
            key = Int(parts[key + 1].next)
        }
    }

    /// Whether none of the object's keys before it is the same, or they are too many to be compared.
    private func isNew(
        _ key: Int,
        of object: Int,
        in parts: borrowing OutputSpan<JSONPart>,
        _ seen: inout SeenKeys
    ) -> Bool {
        let kind = self.scanner.kind(of: parts[key])
        // Most keys are told apart by their first letter and their length.
        let isOfNewKind = seen.kinds & kind == 0
        seen.kinds |= kind
        seen.count += 1
        guard !isOfNewKind, seen.count <= Self.comparedKeys else { return true }
        var other = object + 1
        while other < key {
            if self.scanner.areSame(parts[other], parts[key]) { return false }
            other = Int(parts[other + 1].next)
        }
        return true
    }

    /// The same of a request's outermost object; notes the key if it is one of the protocol's.
    private mutating func isNew(
        requestKey key: Int,
        of object: Int,
        in parts: borrowing OutputSpan<JSONPart>,
        _ seen: inout SeenKeys
    ) -> Bool {
        if let known = self.scanner.word(parts[key]).flatMap({ RequestKey.table.number(of: $0) }) {
            return self.places.note(known, at: key + 1)
        }
        self.places.noteUnknown()
        return self.isNew(key, of: object, in: parts, &seen)
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
    @inline(__always)
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
