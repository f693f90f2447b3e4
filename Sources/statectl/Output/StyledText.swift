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

    /// Cut to that many columns, with an ellipsis for the rest.
    func cut(to width: Int) -> StyledText {
        guard self.columns > width else { return self }
        var (cut, room) = (StyledText(), width - 1)
        for (text, role) in self.parts where room > 0 {
            let shown = text.cut(to: room)
            cut.parts.append((shown, role))
            room -= shown.columns
            if shown.count < text.count { break }
        }
        return width > 0 ? cut + StyledText("…") : cut
    }

    /// Divided into pieces of at most that many columns, as far as its words allow.
    fileprivate func divided(at width: Int) -> [StyledText] {
        guard self.columns > width else { return [self] }
        var pieces = [StyledText()]
        for (text, role) in self.parts {
            for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false)
                .enumerated()
            {
                let last = pieces[pieces.count - 1]
                let gap = index == 0 ? "" : " "
                if last.columns > 0, last.columns + gap.count + String(word).columns > width {
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

    /// The same, on as many lines of that many columns as it takes.
    ///
    /// All but the first begin with `indent` spaces. A part that is longer than a line is divided between words; a
    /// word that is longer is not.
    func wrapped(separator: String, to width: Int, indent: Int) -> [StyledText] {
        var lines: [StyledText] = []
        for part in self where part.columns > 0 {
            if let last = lines.last,
                last.columns + separator.count + part.columns <= width
            {
                lines[lines.count - 1] = last + StyledText(separator) + part
                continue
            }
            let margin = StyledText(String(repeating: " ", count: indent))
            for piece in part.divided(at: width - (lines.isEmpty ? 0 : indent)) {
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
