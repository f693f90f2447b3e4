import StateMachineCore
package import StateMachineProtocol

/// Finds cycles of moves that a machine makes by itself, so fast that they would be suspended.
///
/// A slow cycle is intended: a screen that moves on every minute. A cycle is too fast if it makes
/// more moves than the breaker allows in the time that its `after` and its retries' waits take;
/// runs and hooks are assumed to end at once. Such a cycle has negative length, if each move counts
/// the time that it takes less the time that the breaker gives it: a Bellman-Ford search finds it.
struct MoveCircle {
    private struct Move {
        let from: Int
        let to: Int
        /// In milliseconds.
        let length: Double
    }

    /// The states of the cycle found, in order, from the first in the file; nil if there is none.
    let states: [Int]?

    init(_ declaration: Declaration, _ edges: [[Edge]]) {
        let breaker = declaration.breaker
        let given = Double(breaker.time.wholeMilliseconds) / Double(breaker.most)
        let moves = edges.joined().compactMap { edge -> Move? in
            let time = Self.time(of: edge, declaration.states[edge.from])
            return time.map { Move(from: edge.from, to: edge.to, length: $0 - given) }
        }
        self.states = Self.circle(moves, declaration.states.count)
    }

    /// The least time in ms after which a machine takes that way by itself; nil if it never does.
    private static func time(of edge: Edge, _ state: StateDeclaration) -> Double? {
        switch edge.kind {
        case .event, .boot, .set, .interrupted, .link: return nil
        case .after(.after(let delay)): return Double(delay.wholeMilliseconds)
        // What the field may have at least.
        case .after(.field(let name)):
            let field = state.fields.first { $0.name == name }
            return (field?.bounds.least).flatMap { Double("\($0)") } ?? 0
        case .done, .exit: return 0
        case .failed:
            guard let retry = state.run?.command.retry else { return 0 }
            return retry.total.map { Double($0.wholeMilliseconds) }
        }
    }

    private static func circle(_ moves: [Move], _ count: Int) -> [Int]? {
        var length = [Double](repeating: 0, count: count)
        var previous = [Int?](repeating: nil, count: count)
        var shortened: Int?
        for _ in 0..<count {
            shortened = nil
            for move in moves where length[move.from] + move.length < length[move.to] - 1e-6 {
                length[move.to] = length[move.from] + move.length
                previous[move.to] = move.from
                shortened = move.to
            }
            if shortened == nil { return nil }
        }
        // What still gets shorter after as many rounds as there are states is reached from a cycle.
        guard var number = shortened else { return nil }
        for _ in 0..<count { number = previous[number] ?? number }
        var circle = [number]
        var step = previous[number] ?? number
        while step != number, circle.count <= count {
            circle.append(step)
            step = previous[step] ?? number
        }
        circle.reverse()
        let first = circle.indices.min { circle[$0] < circle[$1] } ?? 0
        return Array(circle[first...] + circle[..<first])
    }
}

/// A way from one state to another.
package struct Edge: Hashable, Sendable {
    /// What makes a machine take it.
    package enum Kind: Hashable, Sendable {
        case event(String)
        /// What is seen of another machine.
        case link(LinkCondition)
        case after(StateDeclaration.Deadline.Moment)
        case done
        case exit(Int)
        case failed
        case interrupted
        case boot
        /// A client's `set`.
        case set

        /// Its label beside an arrow.
        package var label: String {
            switch self {
            case .event(let name): name
            case .link(let condition): condition.written
            case .after(let moment): "after \(moment.text)"
            case .done: "done"
            case .exit(let code): "exit \(code)"
            case .failed: "failed"
            case .interrupted: "interrupted"
            case .boot: "boot"
            case .set: "set"
            }
        }
    }

    package let from: Int
    package let to: Int
    package let kind: Kind
}

extension Declaration {
    /// The ways out of a state, in the order in which its keys are listed.
    package func edges(from number: Int) -> [Edge] {
        let state = self.states[number]
        var edges: [Edge] = []
        func add(_ cases: [Branch]?, _ kind: Edge.Kind) {
            for target in (cases ?? []).compactMap(\.outcome.entered) {
                edges.append(Edge(from: number, to: target.state, kind: kind))
            }
        }
        for (index, event) in self.events.enumerated() {
            add(state.reactions[index], .event(event.name))
        }
        for lookout in state.lookouts { add(lookout.cases, .link(lookout.condition)) }
        for time in state.after { add(time.cases, .after(time.moment)) }
        add(state.run?.done, .done)
        for (code, cases) in state.run?.exits.sorted(by: { $0.key < $1.key }) ?? [] {
            add(cases, .exit(code))
        }
        add(state.run?.failed, .failed)
        add(state.run?.interrupted, .interrupted)
        add(state.boot, .boot)
        for successor in state.successors {
            edges.append(Edge(from: number, to: successor, kind: .set))
        }
        return edges
    }
}
