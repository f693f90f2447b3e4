/// A JSON number by its exact value: `1`, `1.0` and `10e-1` are equal, and different integers never
/// are, however long.
struct JSONDecimal: Hashable {
    private let isNegative: Bool
    /// Without zeros at either end; none at all for zero.
    private let digits: [UInt8]
    /// The position of the point, counted in digits from the first.
    private let point: Int

    /// The value of a number as JSON writes it; nil if its exponent does not fit in 32 bits.
    init?(_ text: String) {
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
