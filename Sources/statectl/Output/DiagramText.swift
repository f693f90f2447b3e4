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
