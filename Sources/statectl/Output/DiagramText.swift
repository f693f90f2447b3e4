import StateMachineDeclaration

/// A machine as people are shown it: as a drawing where it has room, else as a list.
struct DiagramText {
    let style: Style
    /// Columns of the terminal; nil where a line has no end.
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
    /// Without the spaces at its end.
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
