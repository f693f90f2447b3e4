package import StateMachineProtocol

/// What keeps a state from being entered, or has a say before it is.
package enum DrawingBar: String, Sendable {
    /// Somebody holds it: entering it is denied, or waits.
    case held
    /// Somebody is asked first.
    case guarded

    /// The sign beside a name.
    var sign: String {
        switch self {
        case .held: "⊘"
        case .guarded: "?"
        }
    }
}

extension DrawingBar {
    /// Which states are held or guarded, by name, from the answers to `stats` and `describe`.
    package static func bars(_ stats: JSONValue, _ description: JSONValue) -> [String: DrawingBar] {
        let names = (description["states"]?.elements ?? []).compactMap { $0["state"]?.string }
        let groups = description["groups"]
        var bars: [String: DrawingBar] = [:]
        // A held state is shown as held even if it is guarded too.
        for (rows, bar) in [(stats["guards"], DrawingBar.guarded), (stats["holds"], .held)] {
            for row in rows?.elements ?? [] {
                for name in self.selected(row["before"]?.elements ?? [], of: names, groups) {
                    bars[name] = bar
                }
            }
        }
        return bars
    }

    /// The names of the states that somebody holds, from the answers to `stats` and `describe`.
    package static func held(_ stats: JSONValue, _ description: JSONValue) -> Set<String> {
        Set(self.bars(stats, description).filter { $0.value == .held }.keys)
    }

    /// The states that patterns match, whatever their fields.
    private static func selected(
        _ patterns: [JSONValue],
        of names: [String],
        _ groups: JSONValue?
    ) -> [String] {
        let patterns = patterns.map { Pattern(writing: $0) }
        // A pattern with a value excludes only some values of a state, so the state still counts.
        let list = PatternList(patterns.filter { !$0.isException || !$0.asksForValues })
        return names.filter { name in
            list.isEmpty
                || list.contains { pattern in
                    let group = groups?[pattern.name]?.elements?.compactMap(\.string)
                    return (group ?? [pattern.name]).contains(name)
                }
        }
    }
}

/// A way from one state to another, by their names.
package struct DrawingWay: Hashable, Sendable {
    package let from: String
    package let to: String

    package init(from: String, to: String) {
        (self.from, self.to) = (from, to)
    }
}
