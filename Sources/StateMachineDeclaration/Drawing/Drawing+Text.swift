import StateMachineCore
import StateMachineProtocol

extension Drawing {
    var plainText: String {
        let initial = self.declaration.initial.number
        return self.declaration.states.enumerated().map { number, state in
            var remarks: [String] = []
            if number == self.present { remarks.append("present") }
            if number == initial { remarks.append("start") }
            if state.isFinal { remarks.append("final") }
            let groups = self.declaration.groups(of: number).map(\.name)
            if !groups.isEmpty { remarks.append("in \(groups.joined(separator: ", "))") }
            let title =
                remarks.isEmpty ? state.name : "\(state.name)  (\(remarks.joined(separator: "; ")))"
            return ([title] + self.rows(number, state)).joined(separator: "\n")
        }
        .joined(separator: "\n\n")
    }

    private func rows(_ number: Int, _ state: DeclaredCase) -> [String] {
        var rows = state.fields.map { "  \($0.name): \(Self.kind(of: $0))" }
        if let run = state.run { rows.append("  run: \(run.command.written)") }
        for command in state.enter { rows.append("  enter: \(command.written)") }
        for command in state.leave { rows.append("  leave: \(command.written)") }
        for (index, event) in self.declaration.events.enumerated() {
            switch state.reactions[index] {
            case .stay: rows.append("  \(event.name): stay")
            case .ignore: rows.append("  \(event.name): ignore")
            case .enter, .again, nil: break
            }
        }
        rows += self.arrows(from: number).map { arrow in
            let name = self.declaration.states[arrow.to].name
            return "  \(arrow.labels.joined(separator: ", ")) → \(name)"
        }
        if state.successors.count == self.declaration.states.count { rows.append("  set → any") }
        return rows
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
