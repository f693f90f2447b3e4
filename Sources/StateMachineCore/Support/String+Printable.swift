extension String {
    /// The text without anything that a terminal would obey, or that changes how neighbouring text
    /// looks: controls, line ends and changes of writing direction are written out as `\u{…}`.
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
        default: false
        }
    }
}
