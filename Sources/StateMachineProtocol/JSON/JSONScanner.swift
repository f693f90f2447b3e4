/// Where a line stops being JSON, and why.
package struct JSONSyntaxError: Error, Hashable {
    /// The byte in the line, from 0.
    package let offset: Int
    package let message: String
}

/// Walks along a text from token to token: strings, numbers, words and white space.
///
/// The memory is the caller's, and stays while it walks: the text, a zero behind it, and then room for as many bytes as
/// the text has.
struct JSONScanner {
    private let memory: UnsafeMutableRawPointer
    private let count: Int
    private(set) var position = 0
    /// Where what strings with escapes stand for goes, one behind the other; it is never longer than they are.
    private var unescaped: Int

    init(_ memory: UnsafeMutableRawPointer, count: Int) {
        self.memory = memory
        self.count = count
        self.unescaped = count + 1
    }

    var isAtEnd: Bool { self.position == self.count }

    /// The byte that comes next; 0 at the end, which stands for itself nowhere in a text.
    var current: UInt8 { self.byte(at: self.position) }

    private func byte(at position: Int) -> UInt8 {
        self.memory.load(fromByteOffset: position, as: UInt8.self)
    }

    func error(_ message: String) -> JSONSyntaxError {
        JSONSyntaxError(offset: self.position, message: message)
    }

    /// Skips the current byte.
    mutating func advance() { self.position += 1 }

    @inline(__always)
    mutating func skipWhiteSpace() {
        // RFC 8259 allows space, tab, LF and CR.
        while self.current <= 0x20 {
            let byte = self.current
            guard byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D else { return }
            self.position &+= 1
        }
    }

    mutating func skip(_ word: StaticString) throws(JSONSyntaxError) -> Range<Int> {
        let start = self.position
        for index in 0..<word.utf8CodeUnitCount {
            guard self.current == word.utf8Start[index] else {
                self.position = start
                throw self.error("a value was expected")
            }
            self.position += 1
        }
        return start..<self.position
    }

    mutating func skipNumber() throws(JSONSyntaxError) -> Range<Int> {
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
        return start..<self.position
    }

    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = self.position
        while self.current.isDigit { self.position += 1 }
        guard self.position > start else { throw self.error("a digit was expected") }
    }

    /// A string whose opening quote is the current byte; returns where what it stands for is found.
    @inline(__always)
    mutating func skipString() throws(JSONSyntaxError) -> Range<Int> {
        self.position += 1
        let start = self.position
        try self.skipPlain()
        guard self.current == UInt8(ascii: "\"") else {
            return try self.unescapeString(from: start)
        }
        self.position += 1
        return start..<self.position - 1
    }

    /// Skips what stands for itself in a string, which has to be UTF-8: most strings have nothing else.
    @inline(__always)
    private mutating func skipPlain() throws(JSONSyntaxError) {
        let start = self.position
        var (position, all) = (start, 0 as UInt8)
        while true {
            let byte = self.byte(at: position)
            // Most are letters, which are behind the backslash.
            if byte <= UInt8(ascii: "\\"),
                byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            {
                break
            }
            all |= byte
            position &+= 1
        }
        self.position = position
        // ASCII is.
        if all >= 0x80 { try self.validate(from: start) }
    }

    private mutating func unescapeString(from start: Int) throws(JSONSyntaxError) -> Range<Int> {
        let begin = self.unescaped
        self.keep(from: start)
        while !self.isAtEnd {
            let byte = self.current
            switch byte {
            case UInt8(ascii: "\""):
                self.position += 1
                return begin..<self.unescaped
            case UInt8(ascii: "\\"):
                for byte in String(try self.parseEscape()).utf8 {
                    self.memory.storeBytes(of: byte, toByteOffset: self.unescaped, as: UInt8.self)
                    self.unescaped += 1
                }
            case 0..<0x20:
                throw self.error("a control character in a string must be escaped")
            default:
                let start = self.position
                try self.skipPlain()
                self.keep(from: start)
            }
        }
        throw self.error("the line ends inside a string")
    }

    /// Copies what there is from there to the current byte, which stands for itself.
    private mutating func keep(from start: Int) {
        let count = self.position - start
        (self.memory + self.unescaped).copyMemory(from: self.memory + start, byteCount: count)
        self.unescaped += count
    }

    private mutating func parseEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        self.position += 1
        guard !self.isAtEnd else { throw self.error("the line ends inside a string") }
        let byte = self.current
        let plain: Unicode.Scalar? =
            switch byte {
            case UInt8(ascii: "\""): "\""
            case UInt8(ascii: "\\"): "\\"
            case UInt8(ascii: "/"): "/"
            case UInt8(ascii: "b"): "\u{8}"
            case UInt8(ascii: "f"): "\u{C}"
            case UInt8(ascii: "n"): "\n"
            case UInt8(ascii: "r"): "\r"
            case UInt8(ascii: "t"): "\t"
            default: nil
            }
        if let plain {
            self.position += 1
            return plain
        }
        guard byte == UInt8(ascii: "u") else { throw self.error("unknown escape") }
        return try self.parseUnicodeEscape()
    }

    private mutating func parseUnicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let unpaired = JSONSyntaxError(offset: self.position - 1, message: "an unpaired surrogate")
        let first = try self.parseCodeUnit()
        if let scalar = Unicode.Scalar(UInt32(first)) { return scalar }
        guard UTF16.isLeadSurrogate(first), self.current == UInt8(ascii: "\\"),
            self.byte(at: self.position + 1) == UInt8(ascii: "u")
        else { throw unpaired }
        self.position += 1
        let second = try self.parseCodeUnit()
        guard UTF16.isTrailSurrogate(second) else { throw unpaired }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    /// Four hexadecimal digits, after the `u` that is the current byte.
    private mutating func parseCodeUnit() throws(JSONSyntaxError) -> UInt16 {
        self.position += 1
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = self.current.hexDigit else {
                throw self.error("four hexadecimal digits were expected")
            }
            unit = unit << 4 | UInt16(digit)
            self.position += 1
        }
        return unit
    }

    /// Checks that what there is from there to the current byte is UTF-8.
    private func validate(from start: Int) throws(JSONSyntaxError) {
        do {
            _ = try UTF8Span(validating: self.bytes(start..<self.position).span)
        } catch {
            throw JSONSyntaxError(
                offset: start + error.byteOffsets.lowerBound,
                message: "not UTF-8"
            )
        }
    }
}

// What was read, while the rest is.
extension JSONScanner {
    /// The string there.
    func text(_ part: JSONPart) -> String {
        String(decoding: self.bytes(part.range), as: UTF8.self)
    }

    /// The string there as a word, if it is short enough.
    func word(_ part: JSONPart) -> ShortWord? { ShortWord(self.bytes(part.range)) }

    /// A bit of 64 for its length and first byte.
    @inline(__always)
    func kind(of part: JSONPart) -> UInt64 {
        1 << UInt64((Int(self.byte(at: Int(part.start))) ^ part.range.count) & 63)
    }

    /// Whether two strings have the same bytes.
    func areSame(_ left: JSONPart, _ right: JSONPart) -> Bool {
        guard left.end - left.start == right.end - right.start else { return false }
        return self.bytes(left.range).elementsEqual(self.bytes(right.range))
    }

    private func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: UnsafeRawPointer(self.memory + range.lowerBound)
                .assumingMemoryBound(to: UInt8.self),
            count: range.count
        )
    }
}

extension UInt8 {
    /// Its value as a hexadecimal digit.
    fileprivate var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Collection<UInt8> {
    /// How many bytes stand before the first one that is not part of well-formed UTF-8.
    package var validUTF8PrefixCount: Int {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = self.makeIterator()
        var count = 0
        while case .valid(let scalar) = parser.parseScalar(from: &iterator) {
            count += scalar.count
        }
        return count
    }
}
