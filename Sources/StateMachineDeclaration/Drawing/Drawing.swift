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

    /// A state with what is said of it, and the ways out of it.
    struct State: Sendable {
        let name: String
        let groups: [String]
        let isFinal: Bool
        /// What is in it and stays in it, each as a line of text.
        let lines: [String]
        let arrows: [Arrow]
        /// Whether a client may set any state from it.
        let isOpen: Bool
    }

    /// An arrow with everything that leads that way.
    struct Arrow: Sendable {
        /// The number of a state.
        let to: Int
        let labels: [String]
        /// Only a client's `set` leads that way.
        let isSetOnly: Bool
    }

    /// What the machine is called; nil if it has no name.
    let title: String?
    let states: [State]
    /// The number of the one in which it begins.
    let initial: Int
    /// The number of the one that is marked; nil if none is.
    let present: Int?

    /// The machine in that language; lines without a newline at the end.
    package func text(as format: Format) -> String {
        switch format {
        case .text: self.plainText
        case .mermaid: self.mermaid
        case .dot: self.dot
        }
    }

    /// The ways out of a state, gathered: one arrow for each state that they lead to.
    static func arrows(_ ways: [(label: String, to: Int)], sets: [Int]) -> [Arrow] {
        var labels: [Int: [String]] = [:]
        var order: [Int] = []
        for (label, to) in ways + sets.map({ ("set", $0) }) {
            if labels[to] == nil { order.append(to) }
            labels[to, default: []].append(label)
        }
        let moved = Set(ways.map(\.to))
        return order.map { to in
            Arrow(to: to, labels: labels[to] ?? [], isSetOnly: !moved.contains(to))
        }
    }
}
