package import StateMachineCore

extension WallTime {
    /// The moment that any text of RFC 3339 names: with or without a fraction, in UTC or with an offset; nil if it
    /// names none.
    package init?(reading text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[10] | 0x20 == UInt8(ascii: "t") else { return nil }
        let digits = bytes[19...].dropFirst(bytes[19] == UInt8(ascii: ".") ? 1 : 0)
            .prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let hasFraction = bytes[19] == UInt8(ascii: ".")
        guard hasFraction ? !digits.isEmpty : digits.isEmpty,
            let offset = Self.offset(bytes[digits.endIndex...])
        else { return nil }
        // Six digits are kept.
        let fraction = Array(digits.prefix(6)) + Array(repeating: UInt8(ascii: "0"), count: 6)
        let plain = Array(bytes[..<10]) + [UInt8(ascii: "T")] + Array(bytes[11..<19])
        let whole = String(decoding: plain, as: UTF8.self) + "."
        guard
            let local = WallTime(
                rfc3339: whole + String(decoding: fraction.prefix(6), as: UTF8.self) + "Z"
            )
        else { return nil }
        self.init(microseconds: local.microseconds - offset * 60_000_000)
    }

    /// The minutes that an offset is ahead of UTC; nil if it is not an offset.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        let text = Array(bytes)
        if text.count == 1, text[0] | 0x20 == UInt8(ascii: "z") { return 0 }
        guard text.count == 6, text[3] == UInt8(ascii: ":"),
            text[0] == UInt8(ascii: "+") || text[0] == UInt8(ascii: "-")
        else { return nil }
        let numbers = [text[1], text[2], text[4], text[5]].map { Int64($0) - 48 }
        guard numbers.allSatisfy({ (0...9).contains($0) }) else { return nil }
        let (hours, minutes) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
        guard hours < 24, minutes < 60 else { return nil }
        return (hours * 60 + minutes) * (text[0] == UInt8(ascii: "-") ? -1 : 1)
    }
}
