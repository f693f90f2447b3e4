import StateMachineCore
import StateMachineDeclaration

/// A machine as text for people: a drawing if there is room, else a list.
struct DiagramText {
    let style: Style
    /// Columns of the terminal; nil if lines may have any length.
    let width: Int?

    /// Several lines, without the last one's newline.
    func text(_ drawing: Drawing) -> String {
        guard let diagram = Diagram(drawing, width: self.width) else {
            return drawing.text(as: .text)
        }
        return diagram.rows.map { row in
            let line = row.reduce(StyledText()) { $0 + StyledText($1.text, as: Self.role($1.kind)) }
            return line.text(self.style).trimmed
        }
        .joined(separator: "\n")
    }

    private static func role(_ kind: Diagram.Kind) -> Style.Role? {
        switch kind {
        case .state: .state
        case .present: .lit
        case .remark: .aside
        case .label: nil
        case .lane: .label
        }
    }
}

extension String {
    /// Without trailing spaces.
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

extension String {
    /// The text for use between tags and in attributes of XML, at most that many characters of it,
    /// with unprintable characters escaped.
    func markup(atMost count: Int = 400) -> String {
        // A character may have any number of marks on it; counting scalars bounds the bytes too.
        var text = ""
        for scalar in self.unicodeScalars.prefix(count) {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            case "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
            default:
                if scalar.isUnprintable {
                    text += "\\u{\(String(scalar.value, radix: 16))}"
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        return self.unicodeScalars.count > count ? text + "…" : text
    }
}
