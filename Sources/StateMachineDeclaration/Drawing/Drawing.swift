/// A machine as a picture, or as text.
///
/// What a client may set is drawn for states that list it; where everything may be set, arrows would hide the
/// picture.
package struct Drawing: Sendable {
    /// In which language.
    package enum Format: String, CaseIterable, Sendable {
        case text
        case mermaid
        /// Graphviz's.
        case dot
    }

    /// An arrow with everything that leads that way.
    struct Arrow {
        let from: Int
        let to: Int
        let labels: [String]
        /// Only a client's `set` leads that way.
        let isSetOnly: Bool
    }

    let declaration: Declaration
    let present: Int?

    /// A drawing of a machine; the state of the name `present` is marked.
    package init(_ declaration: Declaration, present: String? = nil) {
        self.declaration = declaration
        self.present = present.flatMap { declaration.stateNumber($0) }
    }

    /// The machine in that language; lines without a newline at the end.
    package func text(as format: Format) -> String {
        switch format {
        case .text: self.plainText
        case .mermaid: self.mermaid
        case .dot: self.dot
        }
    }

    /// The arrows out of a state, one for each state that they lead to.
    func arrows(from number: Int) -> [Arrow] {
        let isOpen =
            self.declaration.states[number].successors.count == self.declaration.states.count
        var labels: [Int: [String]] = [:]
        var order: [Int] = []
        var sets: Set<Int> = []
        for edge in self.declaration.edges(from: number) {
            if edge.kind == .set {
                guard !isOpen else { continue }
                sets.insert(edge.to)
            }
            if labels[edge.to] == nil { order.append(edge.to) }
            labels[edge.to, default: []].append(edge.kind.label)
        }
        return order.map { to in
            let labels = labels[to] ?? []
            return Arrow(
                from: number,
                to: to,
                labels: labels,
                isSetOnly: labels.count == 1 && sets.contains(to)
            )
        }
    }
}
