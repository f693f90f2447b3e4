/// A JSON number by its exact value: `1`, `1.0` and `10e-1` are equal, and different integers never
/// are, however long.
package struct JSONDecimal: Hashable, Sendable {
    package let isNegative: Bool
    /// Without zeros at either end; none at all for zero.
    private let digits: [UInt8]
    /// The position of the point, counted in digits from the first.
    private let point: Int

    /// The value of a number as JSON writes it; nil if its exponent does not fit in 32 bits.
    package init?(_ text: String) {
        let parts = text.utf8.split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
        guard let mantissa = parts.first else { return nil }
        var exponent = 0
        if parts.count > 1 {
            guard let written = Int32(Substring(parts[1])) else { return nil }
            exponent = Int(written)
        }
        let isNegative = mantissa.first == UInt8(ascii: "-")
        let halves = mantissa.dropFirst(isNegative ? 1 : 0).split(
            separator: UInt8(ascii: "."),
            omittingEmptySubsequences: false
        )
        let written = Array(halves.joined())
        let zero = UInt8(ascii: "0")
        let start = written.firstIndex { $0 != zero } ?? written.endIndex
        let end = written.lastIndex { $0 != zero } ?? start
        self.digits = start < written.endIndex ? Array(written[start...end]) : []
        self.isNegative = isNegative && !self.digits.isEmpty
        self.point = self.digits.isEmpty ? 0 : halves[0].count + exponent - start
    }
}

extension JSONDecimal: Comparable {
    package static func < (left: Self, right: Self) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        return left.isNegative ? right.isSmaller(than: left) : left.isSmaller(than: right)
    }

    /// Whether it is nearer to zero.
    private func isSmaller(than other: Self) -> Bool {
        guard !self.digits.isEmpty, !other.digits.isEmpty else {
            return self.digits.isEmpty && !other.digits.isEmpty
        }
        guard self.point == other.point else { return self.point < other.point }
        return self.digits.lexicographicallyPrecedes(other.digits)
    }
}

extension JSONDecimal: CustomStringConvertible {
    /// Digits that are written out at most, zeros included; beyond that there is an exponent.
    private static let writtenOut = 21

    /// The number without needless zeros: `10`, `0.5`, `-1.5e300`.
    package var description: String {
        let digits = String(decoding: self.digits, as: UTF8.self)
        let sign = self.isNegative ? "-" : ""
        guard !digits.isEmpty else { return "0" }
        if self.point > Self.writtenOut || self.point < -Self.writtenOut {
            let fraction = digits.dropFirst()
            return
                "\(sign)\(digits.prefix(1))\(fraction.isEmpty ? "" : ".\(fraction)")e\(self.point - 1)"
        }
        if self.point <= 0 {
            return "\(sign)0.\(String(repeating: "0", count: -self.point))\(digits)"
        }
        guard self.point < digits.count else {
            return sign + digits + String(repeating: "0", count: self.point - digits.count)
        }
        return "\(sign)\(digits.prefix(self.point)).\(digits.dropFirst(self.point))"
    }
}

extension JSONValue {
    /// Whether each number in it, at whatever depth, is a finite one as a double: `1e400` is not.
    package var hasOnlyFiniteNumbers: Bool {
        switch self {
        case .number(let text): Self.isFinite(text)
        case .array(let elements): elements.allSatisfy(\.hasOnlyFiniteNumbers)
        case .object(let members): members.allSatisfy(\.value.hasOnlyFiniteNumbers)
        case .null, .bool, .string: true
        }
    }

    private static func isFinite(_ number: String) -> Bool {
        // The least that is not has 309 digits.
        let isShort = number.utf8.count < 309
        if isShort, !number.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) { return true }
        return Double(number)?.isFinite ?? false
    }
}
