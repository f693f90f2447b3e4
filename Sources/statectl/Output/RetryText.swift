import StateMachineDeclaration

/// When commands that fail are tried again, for people.
enum RetryText {
    /// A line for each command that is tried again.
    static func lines(of declaration: Declaration) -> [String] {
        declaration.states.flatMap { state in
            let commands =
                [
                    ("run", state.run.map { [$0.command] } ?? []), ("enter", state.enter),
                    ("leave", state.leave),
                ]
            return commands.flatMap { kind, commands in
                commands.compactMap { command in
                    command.retry.map {
                        "\(state.name), \(kind) \(command.written): tried again \($0.schedule)"
                    }
                }
            }
        }
    }
}
