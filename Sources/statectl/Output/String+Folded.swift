extension String {
    /// Folds each line with more columns than that between words, and indents what follows by four
    /// columns more; a longer word is left whole.
    ///
    /// - Parameter width: columns of the terminal; nil if lines may have any length.
    /// - Returns: the text.
    func folded(to width: Int?) -> String {
        guard let width else { return self }
        return self.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Self.folded($0, to: width) }
            .joined(separator: "\n")
    }

    private static func folded(_ line: Substring, to width: Int) -> String {
        guard self.columns(line) > width else { return String(line) }
        let start = line.prefix { $0 == " " }
        let indent = Swift.min(start.count + 4, width / 2)
        var (folded, columns, rest) = (String(start), start.count, line.dropFirst(start.count))
        while !rest.isEmpty {
            let gap = rest.prefix { $0 == " " }
            let word = rest.dropFirst(gap.count).prefix { $0 != " " }
            rest = rest.dropFirst(gap.count + word.count)
            let own = self.columns(word)
            if columns > start.count, columns + gap.count + own > width {
                folded += "\n" + String(repeating: " ", count: indent) + word
                columns = indent + own
            } else {
                folded += gap + word
                columns += gap.count + own
            }
        }
        return folded
    }

    /// The columns of a text, without its colour codes.
    private static func columns(_ text: Substring) -> Int {
        guard text.utf8.contains(0x1B) else { return String(text).columns }
        let parts = text.split(separator: "\u{1B}[", omittingEmptySubsequences: false)
        let shown = parts.dropFirst().map { $0.drop { $0 != "m" }.dropFirst() }
        return (parts.prefix(1) + shown).reduce(0) { $0 + String($1).columns }
    }
}
