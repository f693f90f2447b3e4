extension Moves {
    /// The moves as a state diagram for Mermaid, which Markdown can show; states get numbers, as a
    /// state's text may contain what has a meaning in Mermaid.
    ///
    /// - Parameter start: the state that the machine begins in, if it is to be marked.
    /// - Returns: lines without a newline at the end.
    public func mermaid(from start: State? = nil) -> String {
        var lines = ["stateDiagram-v2"]
        for (number, state) in self.states.enumerated() {
            // Mermaid has no escape for these.
            let name = String("\(state)".map { "\"<>;#:%\n".contains($0) ? "_" : $0 })
            lines.append("    state \"\(name)\" as s\(number)")
        }
        if let first = self.number(of: start) { lines.append("    [*] --> s\(first)") }
        lines += self.numbered.map { "    s\($0.old) --> s\($0.new)" }
        lines += self.ends.map { "    s\($0) --> [*]" }
        return lines.joined(separator: "\n")
    }

    /// The moves as a digraph for Graphviz.
    ///
    /// - Parameter start: the state that the machine begins in, if one of them is to be marked.
    /// - Returns: lines without a newline at the end.
    public func dot(from start: State? = nil) -> String {
        var lines = [
            "digraph \"\(State.self)\" {", "    rankdir=LR;",
            "    node [shape=box, style=rounded];",
        ]
        let ends = Set(self.ends)
        for (number, state) in self.states.enumerated() {
            let name = "\(state)".replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                .replacing("\n", with: "\\n")
            let end = ends.contains(number) ? ", peripheries=2" : ""
            lines.append("    s\(number) [label=\"\(name)\"\(end)];")
        }
        if let first = self.number(of: start) {
            lines += ["    start [shape=point];", "    start -> s\(first);"]
        }
        lines += self.numbered.map { "    s\($0.old) -> s\($0.new);" }
        lines.append("}")
        return lines.joined(separator: "\n")
    }

    private func number(of state: State?) -> Int? { state.flatMap(self.states.firstIndex) }
}
