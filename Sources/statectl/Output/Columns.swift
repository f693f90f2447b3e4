import StateMachineCore

/// The columns of rows that stand below each other: wide enough for all that was shown so far, if
/// the terminal is wide enough.
///
/// Guarded state: `widths`, behind its lock.
final class Columns: Sendable {
    /// The first width for a number: `#41` and room for more.
    private static let seq = 6
    /// The first width for a state: `authentication(phase: failure)` and a space.
    private static let state = 32
    /// The widest column that a state causes if lines have no limit; longer states shift the rest.
    ///
    /// 60: a wide window shows two of them and the rest.
    private static let most = 60

    private struct Widths {
        var seq: Int
        var state: Int
        var from: Int
    }

    private let widths: Lock<Widths>

    /// - Parameter width: columns of the terminal; nil if lines may have any length.
    init(width: Int?) {
        let state = width.map { Swift.min(Self.state, $0 / 5) } ?? Self.state
        let from = width == nil ? state + 4 : state
        self.widths = Lock(Widths(seq: Self.seq, state: state, from: from))
    }

    /// The width of the numbers' column, after a number of that many columns.
    func seq(_ columns: Int) -> Int {
        self.widths.withLock { widths in
            widths.seq = max(widths.seq, columns)
            return widths.seq
        }
    }

    /// The width of the states' column after one of that width; `limit` is the terminal's room.
    func state(_ columns: Int, limit: Int?) -> Int {
        self.widths.withLock { Self.grow(&$0.state, columns, limit) }
    }

    /// The same for the previous state.
    func from(_ columns: Int, limit: Int?) -> Int {
        self.widths.withLock { Self.grow(&$0.from, columns, limit) }
    }

    private static func grow(_ width: inout Int, _ columns: Int, _ limit: Int?) -> Int {
        if let limit {
            // A longer text is cut.
            width = min(max(width, columns), limit)
        } else if columns <= self.most {
            width = max(width, columns)
        }
        return width
    }
}

extension String {
    /// Padded with spaces to that many characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - self.count))
    }
}

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
