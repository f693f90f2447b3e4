/// The word that is to be completed, as far as it is typed.
///
/// bash takes `=` and `:` for the ends of words: behind them it expects the rest alone, and the others the whole
/// word.
struct PieceOfWord {
    /// All of it up to here, put together again.
    private(set) var text: String
    /// How many bytes of what is completed stand before what the shell expects.
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
        // A break at the end has its own place: what follows it begins behind.
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

    /// What stands before the part that the shell wants to have again.
    private var head = ""

    /// What a shell is offered of a candidate; nil if it does not begin as the word does up to there.
    func rest(of candidate: String) -> String? {
        guard self.before > 0 else { return self.head + candidate }
        let typed = self.text.utf8.prefix(self.before)
        guard candidate.utf8.starts(with: typed) else { return nil }
        return String(Substring(candidate.utf8.dropFirst(self.before)))
    }
}
