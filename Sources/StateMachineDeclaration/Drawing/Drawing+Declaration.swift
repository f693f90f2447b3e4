import StateMachineCore
import StateMachineProtocol

extension Drawing {
    /// A drawing of a declared machine; the state of the name `present` is marked.
    package init(_ declaration: Declaration, present: String? = nil) {
        self.title = declaration.machine
        self.initial = declaration.initial.number
        self.present = present.flatMap { declaration.stateNumber($0) }
        self.states = declaration.states.enumerated().map { number, state in
            let edges = declaration.edges(from: number)
            let isOpen = state.successors.count == declaration.states.count
            return State(
                name: state.name,
                groups: declaration.groups(of: number).map(\.name),
                isFinal: state.isFinal,
                lines: Self.lines(state, declaration.events.map(\.name)),
                arrows: Self.arrows(
                    edges.filter { $0.kind != .set }.map { ($0.kind.label, $0.to) },
                    sets: isOpen ? [] : state.successors
                ),
                isOpen: isOpen
            )
        }
    }

    private static func lines(_ state: DeclaredCase, _ events: [String]) -> [String] {
        var lines = state.fields.map { "\($0.name): \(Self.kind(of: $0))" }
        if let run = state.run { lines.append("run: \(run.command.written)") }
        for command in state.enter { lines.append("enter: \(command.written)") }
        for command in state.leave { lines.append("leave: \(command.written)") }
        for (index, event) in events.enumerated() {
            switch state.reactions[index] {
            case .stay: lines.append("\(event): stay")
            case .ignore: lines.append("\(event): ignore")
            case .enter, .again, nil: break
            }
        }
        return lines
    }

    /// `phase: idle|active`, `url: string`, `title: string?`.
    private static func kind(of field: DeclaredField) -> String {
        let kind =
            field.values.isEmpty
            ? field.type.rawValue : field.values.map(\.plainText).joined(separator: "|")
        let fallback = field.fallback.map { " = \($0.plainText)" }
        return "\(kind)\(field.isOptional ? "?" : "")\(fallback ?? "")"
    }
}
