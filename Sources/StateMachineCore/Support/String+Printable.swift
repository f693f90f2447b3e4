extension String {
    /// The text without anything that a terminal would obey, or that changes how neighbouring text
    /// looks, or that nobody sees: controls, line ends, changes of writing direction and invisible characters are
    /// written out as `\u{…}`.
    package var printable: String {
        // Most texts have no such characters.
        guard self.unicodeScalars.contains(where: \.isUnprintable) else { return self }
        var result = ""
        for scalar in self.unicodeScalars {
            if scalar.isUnprintable {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Unicode.Scalar {
    /// Whether it has an effect instead of being visible.
    package var isUnprintable: Bool {
        switch self.value {
        // Controls.
        case 0..<0x20, 0x7F..<0xA0: true
        // The writing direction, including line ends; and interlinear annotation marks.
        case 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFFF9...0xFFFB: true
        // What has no width and no look (Default_Ignorable_Code_Point), with which two texts that look the same are
        // not; but for the joiner and the selectors (U+200D, U+FE00 to U+FE0F), without which pictures fall apart.
        case 0xAD, 0x34F, 0x115F...0x1160, 0x17B4...0x17B5, 0x180B...0x180F, 0x200B...0x200C,
            0x2060...0x2065, 0x3164, 0xFEFF, 0xFFA0, 0xFFF0...0xFFF8, 0x1BCA0...0x1BCA3,
            0x1D173...0x1D17A, 0xE0000...0xE0FFF:
            true
        default: false
        }
    }
}
