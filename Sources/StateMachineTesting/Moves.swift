public import StateMachineCore

/// Which of some states may follow which, by the rules of their type.
///
/// There is no end of states with values, so that a caller names some that stand for all.
public struct Moves<State: MachineState>: Sendable {
    /// The states, in the order in which they were named.
    public let states: [State]
    /// For each of them, which others may follow, in that order.
    private let followers: [[Int]]

    /// The moves among `states`; a repeated state counts once.
    public init(among states: [State]) {
        let states = states.reduce(into: [State]()) { known, state in
            if !known.contains(state) { known.append(state) }
        }
        self.states = states
        self.followers = states.indices.map { old in
            states.indices.filter { $0 != old && states[old].mayBecome(states[$0]) }
        }
    }

    /// All of them, by the state that is left.
    public var all: [(old: State, new: State)] {
        self.numbered.map { (self.states[$0.old], self.states[$0.new]) }
    }

    /// All of them, by the numbers of the states.
    var numbered: [(old: Int, new: Int)] {
        self.followers.enumerated().flatMap { old, followers in followers.map { (old, $0) } }
    }

    /// The states that nothing follows.
    public var deadEnds: [State] { self.ends.map { self.states[$0] } }

    /// The numbers of the states that nothing follows.
    var ends: [Int] { self.states.indices.filter { self.followers[$0].isEmpty } }

    /// The states that no way leads to from `start`.
    public func unreachable(from start: State) -> [State] {
        let ways = self.shortestWays(from: start)
        return self.states.indices.filter { ways[$0] == nil }.map { self.states[$0] }
    }

    /// Ways from `start` that together take each move that can be taken; each goes on while there
    /// is a new move, so that they are few.
    ///
    /// - Returns: the ways, each with `start` as its first state.
    public func paths(from start: State) -> [[State]] {
        let ways = self.shortestWays(from: start)
        var left = self.followers.map { Set($0) }
        var paths: [[Int]] = []
        for old in self.states.indices {
            guard let way = ways[old] else { continue }
            while !left[old].isEmpty {
                var path = way
                var place = old
                while let next = self.followers[place].first(where: { left[place].contains($0) }) {
                    left[place].remove(next)
                    path.append(next)
                    place = next
                }
                paths.append(path)
            }
        }
        return paths.map { $0.map { self.states[$0] } }
    }

    /// A shortest way to each state; nil for states that none leads to.
    private func shortestWays(from start: State) -> [[Int]?] {
        var ways = [[Int]?](repeating: nil, count: self.states.count)
        guard let first = self.states.firstIndex(of: start) else { return ways }
        ways[first] = [first]
        var ahead = [first]
        while !ahead.isEmpty {
            var next: [Int] = []
            for place in ahead {
                for follower in self.followers[place] where ways[follower] == nil {
                    ways[follower] = (ways[place] ?? []) + [follower]
                    next.append(follower)
                }
            }
            ahead = next
        }
        return ways
    }
}

extension Moves where State: CaseIterable {
    /// The moves among all states, where none has values.
    public init() { self.init(among: Array(State.allCases)) }
}

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
