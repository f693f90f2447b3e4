extension String {
    /// In quotes for a message, cut to a suitable length.
    package var quoted: String { "\"\(self.excerpt())\"" }

    /// Its first scalars; not characters, for a character may be as long as the line.
    package func excerpt(_ count: Int = 64) -> String {
        let start = self.unicodeScalars.prefix(count)
        return start.endIndex == self.endIndex ? self : "\(String(start))…"
    }
}
