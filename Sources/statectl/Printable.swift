extension String {
    /// The text without anything that a terminal would obey: controls, line ends and changes of the
    /// writing direction are written out as `\u{…}`.
    var printable: String {
        var result = ""
        for scalar in self.unicodeScalars {
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Filled up with spaces to that many characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - self.count))
    }
}
