/// Where a line stops being JSON, and why.
package struct JSONSyntaxError: Error, Hashable {
    /// The byte in the line, from 0.
    package let offset: Int
    package let message: String
}

/// Walks along a text from token to token: strings, numbers, words and white space.
struct JSONScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { self.position == self.bytes.count }

    var current: UInt8? {
        self.position < self.bytes.count ? self.bytes[self.position] : nil
    }

    func error(_ message: String) -> JSONSyntaxError {
        JSONSyntaxError(offset: self.position, message: message)
    }

    /// Skips the current byte.
    mutating func advance() { self.position += 1 }

    mutating func skipWhiteSpace() {
        while let byte = self.current, byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) {
            // RFC 8259 allows space, tab, LF and CR.
            guard byte != 0x0B && byte != 0x0C else { return }
            self.position += 1
        }
    }

    mutating func parse(
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

    mutating func parseNumber() throws(JSONSyntaxError) -> String {
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
        return try self.text(from: start)
    }

    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = self.position
        while self.current?.isDigit == true { self.position += 1 }
        guard self.position > start else { throw self.error("a digit was expected") }
    }

    /// A string whose opening quote is the current byte.
    mutating func parseString() throws(JSONSyntaxError) -> String {
        self.position += 1
        let start = self.position
        self.position = self.endOfPlain
        guard self.current == UInt8(ascii: "\"") else {
            return try self.parseEscapedString(from: start)
        }
        let string = try self.text(from: start)
        self.position += 1
        return string
    }

    /// Where what stands for itself in a string ends: most strings have nothing else.
    private var endOfPlain: Int {
        let bytes = self.bytes.span
        var position = self.position
        while position < bytes.count {
            let byte = bytes[position]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            position += 1
        }
        return position
    }

    private mutating func parseEscapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var string = try self.text(from: start)
        while let byte = self.current {
            switch byte {
            case UInt8(ascii: "\""):
                self.position += 1
                return string
            case UInt8(ascii: "\\"):
                string.unicodeScalars.append(try self.parseEscape())
            case 0..<0x20:
                throw self.error("a control character in a string must be escaped")
            default:
                let start = self.position
                self.position = self.endOfPlain
                string += try self.text(from: start)
            }
        }
        throw self.error("the line ends inside a string")
    }

    private mutating func parseEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        self.position += 1
        guard let byte = self.current else { throw self.error("the line ends inside a string") }
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
            self.position + 1 < self.bytes.count,
            self.bytes[self.position + 1] == UInt8(ascii: "u")
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
            guard let digit = self.current?.hexDigit else {
                throw self.error("four hexadecimal digits were expected")
            }
            unit = unit << 4 | UInt16(digit)
            self.position += 1
        }
        return unit
    }

    /// The text from there to the current byte.
    private func text(from start: Int) throws(JSONSyntaxError) -> String {
        let bytes = self.bytes.span.extracting(start..<self.position)
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw JSONSyntaxError(
                offset: start + error.byteOffsets.lowerBound,
                message: "not UTF-8"
            )
        }
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
