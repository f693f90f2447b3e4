/// A way from one state to another.
package struct Edge: Hashable, Sendable {
    /// What makes a machine take it.
    package enum Kind: Hashable, Sendable {
        case event(String)
        case after(Duration)
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
            case .after(let delay): "after \(delay.timeText)"
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
        func add(_ target: DeclaredTarget?, _ kind: Edge.Kind) {
            guard let target else { return }
            edges.append(Edge(from: number, to: target.state, kind: kind))
        }
        for (index, event) in self.events.enumerated() {
            switch state.reactions[index] {
            case .enter(let target), .again(let target): add(target, .event(event.name))
            case .stay, .ignore, nil: break
            }
        }
        if let after = state.after { add(after.target, .after(after.delay)) }
        add(state.run?.done, .done)
        for (code, target) in state.run?.exits.sorted(by: { $0.key < $1.key }) ?? [] {
            add(target, .exit(code))
        }
        add(state.run?.failed, .failed)
        if case .enter(let target)? = state.run?.interrupted { add(target, .interrupted) }
        add(state.boot, .boot)
        for successor in state.successors {
            edges.append(Edge(from: number, to: successor, kind: .set))
        }
        return edges
    }
}
