import StateMachineProtocol

/// A machine as a picture, or as text.
///
/// What a client may set is drawn only from states that list it; where everything may be set,
/// arrows would hide the picture.
package struct Drawing: Sendable {
    /// The language of the output.
    package enum Format: String, CaseIterable, Sendable {
        case text
        case mermaid
        /// Graphviz's.
        case dot
    }

    /// A state with its remarks and the ways out of it.
    struct State: Sendable {
        let name: String
        let groups: [String]
        let isFinal: Bool
        /// Its fields, its commands, and the events that do not leave it, each as a line of text.
        let lines: [String]
        var arrows: [Arrow]
        /// Whether a client may set any state from it.
        let isOpen: Bool
        /// What keeps it from being entered at the moment.
        var bar: DrawingBar?
    }

    /// An arrow with everything that leads that way.
    struct Arrow: Sendable {
        /// The number of a state.
        let to: Int
        let labels: [String]
        /// Whether only a client's `set` leads that way.
        let isSetOnly: Bool
        /// How often it has been taken; nil if that is not known.
        var past: Past?
    }

    /// How often a way has been taken.
    struct Past: Sendable {
        let count: Int
        /// The median of the stays that ended that way, as it is shown; nil if none did.
        let median: String?

        /// Beside an arrow: `12 ×, 3 min`.
        var text: String {
            guard self.count > 0 else { return "never" }
            return "\(self.count) ×\(self.median.map { ", \($0)" } ?? "")"
        }
    }

    /// The machine's name; nil if it has none.
    let title: String?
    var states: [State]
    /// The number of the state in which it begins.
    let initial: Int
    /// The number of the marked state; nil if none is.
    let present: Int?

    /// Notes what keeps states from being entered, by their names.
    package mutating func note(_ bars: [String: DrawingBar]) {
        for number in self.states.indices {
            self.states[number].bar = bars[self.states[number].name]
        }
    }

    /// Notes how often each way was taken, by the names of its ends, and the median stay before it.
    ///
    /// A way that was taken but has no arrow gets one: what a client may set is drawn once somebody
    /// did.
    package mutating func note(
        _ past: [DrawingWay: (count: Int, median: String?)]
    ) {
        let numbers = self.states.map(\.name).numbered
        for from in self.states.indices {
            let ways = past.filter { $0.key.from.isSpelled(self.states[from].name) }
            var taken: [Int: Past] = [:]
            for (way, times) in ways {
                guard let to = numbers[Spelling(way.to)] else { continue }
                taken[to] = Past(count: times.count, median: times.median)
            }
            for index in self.states[from].arrows.indices {
                let to = self.states[from].arrows[index].to
                self.states[from].arrows[index].past =
                    taken.removeValue(forKey: to) ?? Past(count: 0, median: nil)
            }
            let label = self.states[from].isOpen ? "set" : "not any more"
            self.states[from].arrows += taken.sorted { $0.key < $1.key }.map { to, times in
                Arrow(to: to, labels: [label], isSetOnly: true, past: times)
            }
        }
    }

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
            // No event's name has a space in it.
            labels[to, default: []].append(label.hasPrefix("after ") ? "◷ \(label)" : label)
        }
        let moved = Set(ways.map(\.to))
        return order.map { to in
            Arrow(to: to, labels: labels[to] ?? [], isSetOnly: !moved.contains(to))
        }
    }
}
