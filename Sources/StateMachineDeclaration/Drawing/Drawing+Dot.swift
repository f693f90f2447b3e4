extension Drawing {
    /// A digraph for Graphviz.
    var dot: String {
        var lines = [
            "digraph \"\((self.title ?? "machine").escaped)\" {",
            "    rankdir=LR;",
            "    node [shape=box, style=rounded, fontname=\"sans-serif\"];",
            "    edge [fontname=\"sans-serif\", fontsize=10];",
            "    start [shape=point];",
            "    start -> s\(self.initial);",
        ]
        for (number, state) in self.states.enumerated() {
            lines.append("    s\(number) [\(self.marks(number, state))];")
        }
        for (number, state) in self.states.enumerated() {
            for arrow in state.arrows {
                lines.append("    s\(number) -> s\(arrow.to) [\(Self.marks(arrow))];")
            }
        }
        lines.append("}")
        return lines.joined(separator: "\n")
    }

    private func marks(_ number: Int, _ state: State) -> String {
        let bar = state.bar.map { "\\n\($0.sign) \($0.rawValue)" } ?? ""
        var marks = ["label=\"\(state.name.escaped)\(bar)\""]
        if state.isFinal { marks.append("peripheries=2") }
        if state.bar != nil { marks.append("color=\"#D55E00\"") }
        if number == self.present {
            marks += ["penwidth=3", "style=\"rounded,filled\"", "fillcolor=\"#FFE9A8\""]
        }
        return marks.joined(separator: ", ")
    }

    private static func marks(_ arrow: Arrow) -> String {
        let labels = arrow.labels.map(\.escaped) + (arrow.past.map { [$0.text] } ?? [])
        var marks = ["label=\"\(labels.joined(separator: "\\n"))\""]
        if arrow.isSetOnly { marks.append("color=gray50") }
        switch arrow.past?.count {
        case nil: break
        case 0?: marks.append("style=dashed")
        // One wider for each hundred times as often.
        case let count?: marks.append("penwidth=\(1 + String(count).utf8.count / 2)")
        }
        return marks.joined(separator: ", ")
    }
}

extension String {
    /// The text escaped for use between quotes; a daemon's states may have any name.
    fileprivate var escaped: String {
        self.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
