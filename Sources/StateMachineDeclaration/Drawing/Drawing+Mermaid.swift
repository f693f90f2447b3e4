extension Drawing {
    /// A state diagram; states get numbers, as a name may contain what has a meaning in Mermaid.
    var mermaid: String {
        var lines = ["stateDiagram-v2"]
        for (number, state) in self.states.enumerated() {
            lines.append("    state \"\(state.name.harmless)\" as s\(number)")
        }
        lines.append("    [*] --> s\(self.initial)")
        for (number, state) in self.states.enumerated() {
            for arrow in state.arrows {
                let past = arrow.past.map { " (\($0.text))" } ?? ""
                let label = arrow.labels.map(\.harmless).joined(separator: ", ") + past
                lines.append("    s\(number) --> s\(arrow.to) : \(label)")
            }
            if state.isFinal { lines.append("    s\(number) --> [*]") }
        }
        for bar in [DrawingBar.held, .guarded] {
            let barred = self.states.indices.filter { self.states[$0].bar == bar }
            guard !barred.isEmpty else { continue }
            lines.append("    classDef \(bar.rawValue) stroke:#D55E00,stroke-dasharray:4")
            let names = barred.map { "s\($0)" }.joined(separator: ",")
            lines.append("    class \(names) \(bar.rawValue)")
        }
        if let present = self.present {
            lines.append("    classDef present stroke-width:4px,fill:#FFE9A8")
            lines.append("    class s\(present) present")
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    /// The text without characters that mean something in Mermaid, which has no escape for them; a
    /// daemon's states may have any name.
    fileprivate var harmless: String {
        String(self.map { "\"<>;#:%".contains($0) ? "_" : $0 })
    }
}
