import StateMachineCore

extension Drawing {
    /// A state diagram; states have numbers, for a name may have what Mermaid reads otherwise.
    var mermaid: String {
        var lines = ["stateDiagram-v2"]
        for (number, state) in self.declaration.states.enumerated() {
            lines.append("    state \"\(state.name)\" as s\(number)")
        }
        lines.append("    [*] --> s\(self.declaration.initial.number)")
        for (number, state) in self.declaration.states.enumerated() {
            for arrow in self.arrows(from: number) {
                let label = arrow.labels.joined(separator: ", ")
                lines.append("    s\(number) --> s\(arrow.to) : \(label)")
            }
            if state.isFinal { lines.append("    s\(number) --> [*]") }
        }
        if let present = self.present {
            lines.append("    classDef present stroke-width:4px")
            lines.append("    class s\(present) present")
        }
        return lines.joined(separator: "\n")
    }
}
