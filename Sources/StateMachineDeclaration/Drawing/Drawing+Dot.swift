import StateMachineCore

extension Drawing {
    /// A digraph for Graphviz; names have nothing that would have to be escaped.
    var dot: String {
        var lines = [
            "digraph \"\(self.declaration.machine ?? "machine")\" {",
            "    rankdir=LR;",
            "    node [shape=box, style=rounded, fontname=\"sans-serif\"];",
            "    edge [fontname=\"sans-serif\", fontsize=10];",
            "    start [shape=point];",
            "    start -> s\(self.declaration.initial.number);",
        ]
        for (number, state) in self.declaration.states.enumerated() {
            var marks = ["label=\"\(state.name)\""]
            if state.isFinal { marks.append("peripheries=2") }
            if number == self.present { marks.append("penwidth=3") }
            lines.append("    s\(number) [\(marks.joined(separator: ", "))];")
        }
        for number in self.declaration.states.indices {
            for arrow in self.arrows(from: number) {
                let label = arrow.labels.joined(separator: "\\n")
                let style = arrow.isSetOnly ? ", style=dashed" : ""
                lines.append("    s\(number) -> s\(arrow.to) [label=\"\(label)\"\(style)];")
            }
        }
        lines.append("}")
        return lines.joined(separator: "\n")
    }
}
