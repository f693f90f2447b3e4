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
            var marks = ["label=\"\(state.name.escaped)\""]
            if state.isFinal { marks.append("peripheries=2") }
            if number == self.present { marks.append("penwidth=3") }
            lines.append("    s\(number) [\(marks.joined(separator: ", "))];")
        }
        for (number, state) in self.states.enumerated() {
            for arrow in state.arrows {
                let label = arrow.labels.map(\.escaped).joined(separator: "\\n")
                let style = arrow.isSetOnly ? ", style=dashed" : ""
                lines.append("    s\(number) -> s\(arrow.to) [label=\"\(label)\"\(style)];")
            }
        }
        lines.append("}")
        return lines.joined(separator: "\n")
    }
}

extension String {
    /// The text for between quotes; a daemon's states may have any name.
    fileprivate var escaped: String {
        self.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
