/// The word that is to be completed, as far as it is typed.
///
/// bash ends words at `=` and `:` and expects only the rest after them; other shells expect the
/// whole word.
struct PieceOfWord {
    /// The whole word up to here, put together again.
    private(set) var text: String
    /// How many bytes of a completed word precede what the shell expects.
    private var before: Int

    init(_ words: [String], at index: Int) {
        guard words.indices.contains(index) else {
            self.text = ""
            self.before = 0
            return
        }
        var start = index
        // A break joins what is on both sides of it.
        while start > 0, Self.isBreak(words[start]) || Self.isBreak(words[start - 1]) { start -= 1 }
        self.text = words[start...index].joined()
        // A break at the end is a word of its own: what follows it begins after it.
        let own = Self.isBreak(words[index]) ? "" : words[index]
        self.before = start == index ? 0 : self.text.utf8.count - own.utf8.count
    }

    private static func isBreak(_ word: String) -> Bool { word == "=" || word == ":" }

    /// The part from that byte on.
    func following(_ count: Int) -> PieceOfWord {
        var piece = self
        piece.text = String(Substring(self.text.utf8.dropFirst(count)))
        piece.before = self.before - count
        piece.head = self.before >= count ? "" : String(Substring(self.text.utf8.prefix(count)))
        return piece
    }

    /// What precedes the part, if the shell wants it repeated.
    private var head = ""

    /// What a shell is offered of a candidate; nil if the candidate does not begin as typed.
    func rest(of candidate: String) -> String? {
        guard self.before > 0 else { return self.head + candidate }
        let typed = self.text.utf8.prefix(self.before)
        guard candidate.utf8.starts(with: typed) else { return nil }
        return String(Substring(candidate.utf8.dropFirst(self.before)))
    }
}
