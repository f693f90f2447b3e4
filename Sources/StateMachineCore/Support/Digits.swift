extension BinaryInteger {
    /// Its digits, that many at least, with zeros before them; it must not be negative.
    package func digits(_ count: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
