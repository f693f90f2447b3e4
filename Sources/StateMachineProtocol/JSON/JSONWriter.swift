extension [UInt8] {
    /// Appends `value` as JSON, without white space.
    package mutating func append(json value: JSONValue) {
        switch value {
        case .null: self.append(text: "null")
        case .bool(let bool): self.append(text: bool ? "true" : "false")
        case .number(let text): self.append(contentsOf: text.utf8)
        case .string(let string): self.append(jsonString: string)
        case .array(let elements):
            self.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { self.append(UInt8(ascii: ",")) }
                self.append(json: element)
            }
            self.append(UInt8(ascii: "]"))
        case .object(let members):
            self.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { self.append(UInt8(ascii: ",")) }
                self.append(jsonString: member.key)
                self.append(UInt8(ascii: ":"))
                self.append(json: member.value)
            }
            self.append(UInt8(ascii: "}"))
        }
    }

    /// Appends `string` in quotes.
    ///
    /// Escaped: the quote, the backslash, C0, DEL, C1, U+2028 and U+2029, so that a line is a line
    /// to every reader and does nothing to a terminal. Slashes are not.
    package mutating func append(jsonString string: String) {
        self.append(UInt8(ascii: "\""))
        defer { self.append(UInt8(ascii: "\"")) }
        if string.utf8.allSatisfy(\.isPlain) {
            self.append(text: string)
            return
        }
        for scalar in string.unicodeScalars {
            switch scalar.value {
            case 0x22: self.append(text: "\\\"")
            case 0x5C: self.append(text: "\\\\")
            case 0x0A: self.append(text: "\\n")
            case 0x0D: self.append(text: "\\r")
            case 0x09: self.append(text: "\\t")
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: self.append(escaped: scalar.value)
            case 0x20..<0x7F: self.append(UInt8(truncatingIfNeeded: scalar.value))
            default:
                self.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
    }

    private mutating func append(escaped value: UInt32) {
        self.append(text: "\\u")
        for shift in [12, 8, 4, 0] as [UInt32] {
            let digit = UInt8(truncatingIfNeeded: (value >> shift) & 0xF)
            self.append(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
        }
    }

    /// Appends bytes that need no escaping.
    package mutating func append(text: StaticString) {
        self.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        )
    }

    /// Appends ASCII that needs no escaping.
    package mutating func append(text: String) {
        var text = text
        text.withUTF8 { self.append(contentsOf: $0) }
    }

    package mutating func append(decimal number: some BinaryInteger) {
        var rest = UInt64(number.magnitude)
        // As many digits as 2^64 has, from the last to the first.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var index = 20
            repeat {
                index -= 1
                digits[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 { self.append(UInt8(ascii: "-")) }
            self.append(contentsOf: UnsafeBufferPointer(rebasing: digits[index...]))
        }
    }
}

extension UInt8 {
    /// Whether it stands for itself in a JSON string; most strings have nothing else.
    var isPlain: Bool {
        self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
