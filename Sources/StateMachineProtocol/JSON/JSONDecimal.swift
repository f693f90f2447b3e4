/// A JSON number by its exact value: `1`, `1.0` and `10e-1` are equal, and different integers never
/// are, however long.
///
/// Made and compared without allocation.
package struct JSONDecimal: Sendable {
    package let isNegative: Bool
    /// From the first digit that is no zero to the last one, perhaps with the point between; empty for zero.
    private let written: Substring.UTF8View
    /// The position of the point, counted in digits from the first.
    private let point: Int

    /// The value of a number as JSON writes it; nil if its exponent does not fit in 32 bits.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard !bytes.isEmpty else { return nil }
        let end = bytes.firstIndex { $0 | 0x20 == UInt8(ascii: "e") } ?? bytes.endIndex
        var exponent = 0
        if end < bytes.endIndex {
            guard let written = Int32(text[bytes.index(after: end)...]) else { return nil }
            exponent = Int(written)
        }
        let isNegative = bytes.first == UInt8(ascii: "-")
        /// Digits so far, those of them before the point, and those before the first that is no zero.
        var (count, whole, zeros) = (0, Int?.none, 0)
        var (first, last) = (end, end)
        for index in bytes[..<end].indices.dropFirst(isNegative ? 1 : 0) {
            if bytes[index] == UInt8(ascii: ".") {
                whole = count
                continue
            }
            if bytes[index] != UInt8(ascii: "0") {
                if first == end { (first, zeros) = (index, count) }
                last = bytes.index(after: index)
            }
            count += 1
        }
        self.written = bytes[first..<last]
        self.isNegative = isNegative && first < last
        self.point = first < last ? (whole ?? count) + exponent - zeros : 0
    }

    private var digits: LazyFilterSequence<Substring.UTF8View> {
        self.written.lazy.filter { $0 != UInt8(ascii: ".") }
    }
}

extension JSONDecimal: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        left.isNegative == right.isNegative && left.point == right.point
            && left.digits.elementsEqual(right.digits)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.isNegative)
        hasher.combine(self.point)
        for digit in self.digits { hasher.combine(digit) }
    }
}

extension JSONDecimal: Comparable {
    package static func < (left: Self, right: Self) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        return left.isNegative ? right.isSmaller(than: left) : left.isSmaller(than: right)
    }

    /// Whether it is nearer to zero.
    private func isSmaller(than other: Self) -> Bool {
        guard !self.written.isEmpty, !other.written.isEmpty else {
            return self.written.isEmpty && !other.written.isEmpty
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
        let digits = String(decoding: Array(self.digits), as: UTF8.self)
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
