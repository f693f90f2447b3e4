import StateMachineCore

/// A text in parts that look different, for as long as it has to be cut or padded.
struct StyledText {
    private var parts: [(text: String, role: Style.Role?)] = []

    init() {}

    init(_ text: String, as role: Style.Role? = nil) {
        self.parts = [(text, role)]
    }

    /// Columns of a terminal that it takes.
    var columns: Int { self.parts.reduce(0) { $0 + $1.text.columns } }

    static func + (left: StyledText, right: StyledText) -> StyledText {
        var sum = left
        sum.parts += right.parts
        return sum
    }

    /// Padded with spaces to that many columns.
    func padded(to width: Int) -> StyledText {
        let missing = width - self.columns
        return missing > 0 ? self + StyledText(String(repeating: " ", count: missing)) : self
    }

    /// Cut to that many columns, with an ellipsis for the rest; whole if it may have any number.
    func cut(to width: Int?) -> StyledText {
        guard let width, self.columns > width else { return self }
        var (cut, room) = (StyledText(), width - 1)
        for (text, role) in self.parts where room > 0 {
            let shown = text.cut(to: room)
            cut.parts.append((shown, role))
            room -= shown.columns
            if shown.count < text.count { break }
        }
        return width > 0 ? cut + StyledText("…") : cut
    }

    /// Divided into pieces of at most so many columns, the first and the others, as far as its words allow.
    fileprivate func divided(first: Int, others: Int) -> [StyledText] {
        guard self.columns > first else { return [self] }
        var pieces = [StyledText()]
        for (text, role) in self.parts {
            for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false)
                .enumerated()
            {
                let last = pieces[pieces.count - 1]
                let gap = index == 0 ? "" : " "
                let room = pieces.count == 1 ? first : others
                if last.columns > 0, last.columns + gap.count + String(word).columns > room {
                    pieces.append(StyledText(String(word), as: role))
                } else {
                    pieces[pieces.count - 1] = last + StyledText(gap + word, as: role)
                }
            }
        }
        return pieces
    }

    /// The text with the terminal's codes for its style.
    func text(_ style: Style) -> String {
        self.parts.map { part in
            part.role.map { style.text(part.text, as: $0) } ?? part.text
        }
        .joined()
    }
}

extension [[String]] {
    /// Rows of as many cells each, as lines whose columns stand below each other: those of `names` begin in one column, all others, numbers,
    /// end in one.
    func lines(names: Set<Int>) -> [String] {
        let widths = (self.first ?? []).indices.map { column in
            self.map { $0[column].columns }.max() ?? 0
        }
        return self.map { cells in
            zip(cells, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.columns)
                return names.contains(column) ? cell.0 + padding : padding + cell.0
            }
            .joined(separator: "  ")
        }
    }
}

extension [StyledText] {
    /// The columns that the first parts of rows take, so that what follows stands below each other; a longer one shifts
    /// the rest.
    static func firstColumn(_ rows: [[StyledText]], in width: Int?) -> Int {
        let most = width.map { $0 / 3 } ?? 40
        return rows.compactMap { $0.first?.columns }.filter { $0 <= most }.max() ?? 0
    }

    /// The texts one after the other, with that between them; empty ones are left out.
    func joined(separator: String) -> StyledText {
        self.filter { $0.columns > 0 }.reduce(StyledText()) { line, part in
            line.columns == 0 ? part : line + StyledText(separator) + part
        }
    }

    /// The same, on as many lines of that many columns as it takes; on one if that may have any number.
    ///
    /// All but the first begin with `indent` spaces. A part that is longer than a line is divided between words; a
    /// word that is longer is not.
    func wrapped(separator: String, to width: Int?, indent: Int) -> [StyledText] {
        guard let width else { return [self.joined(separator: separator)] }
        var lines: [StyledText] = []
        for part in self where part.columns > 0 {
            if let last = lines.last,
                last.columns + separator.count + part.columns <= width
            {
                lines[lines.count - 1] = last + StyledText(separator) + part
                continue
            }
            let margin = StyledText(String(repeating: " ", count: indent))
            let others = width - indent
            for piece in part.divided(first: lines.isEmpty ? width : others, others: others) {
                lines.append(lines.isEmpty ? piece : margin + piece)
            }
        }
        return lines
    }
}

extension String {
    /// The columns of a terminal that it takes; it must not have control characters.
    var columns: Int {
        // Most texts are ASCII.
        if self.utf8.allSatisfy({ $0 < 0x80 }) { return self.utf8.count }
        return self.reduce(0) { $0 + $1.columns }
    }

    /// As many of its characters as fit into that many columns.
    fileprivate func cut(to width: Int) -> String {
        var room = width
        return String(
            self.prefix { character in
                room -= character.columns
                return room >= 0
            }
        )
    }
}

extension Character {
    /// 2 for East Asian scripts and most pictures, as in terminals; else 1.
    fileprivate var columns: Int {
        guard let first = self.unicodeScalars.first?.value else { return 0 }
        return switch first {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
            0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            2
        default: 1
        }
    }
}

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

    private let widths: Lock<(seq: Int, state: Int, from: Int)>

    /// - Parameter width: columns of the terminal; nil if lines may have any length.
    init(width: Int?) {
        let state = width.map { Swift.min(Self.state, $0 / 5) } ?? Self.state
        let from = width == nil ? state + 4 : state
        self.widths = Lock((Self.seq, state, from))
    }

    /// The width of the numbers' column, after a number of that many columns.
    func seq(_ columns: Int) -> Int { self.widths.withLock { Self.grow(&$0.seq, columns, nil) } }

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
