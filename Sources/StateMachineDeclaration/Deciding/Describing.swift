import StateMachineCore
package import StateMachineProtocol

// What people are told of a machine.
extension Declaration {
    /// What a daemon would answer to `describe`, with the fields' defaults and the commands as they are written.
    package var described: JSONValue {
        let schema = self.schema
        let states = zip(schema.states, self.states).map { shape, state in
            let commands = state.keyedCommands.map { JSONValue.string("\($0): \($1.written)") }
            return schema.described(
                shape,
                withDefaults: true,
                [JSONMember("commands", .array(commands))]
            )
        }
        return [
            "machine": self.machine.map { .string($0) } ?? .null, "states": .array(states),
            "initial": ["state": .string(self.initial.declared.name)],
            "transitions": schema.describedTransitions, "events": schema.describedEvents ?? [:],
        ]
    }

    /// What `describe` says of a state besides its fields.
    func behaviour(of number: Int) -> [JSONMember] {
        let state = self.states[number]
        let groups = self.groups(of: number).map { JSONValue.string($0.name) }
        let when = state.reactions.sorted { $0.key < $1.key }.map { event, reaction in
            JSONMember(self.events[event].name, .string(self.word(for: reaction)))
        }
        let moves = self.edges(from: number).compactMap { edge -> JSONMember? in
            switch edge.kind {
            case .event, .after, .set: nil
            case .done, .exit, .failed, .interrupted, .boot:
                JSONMember(edge.kind.label, .string(self.states[edge.to].name))
            }
        }
        let after = state.after.map { after in
            JSONMember(
                "after",
                ["ms": .integer(after.delay.wholeMilliseconds), "state": self.name(after.target)]
            )
        }
        return [
            state.about.map { JSONMember("about", .string($0)) },
            groups.isEmpty ? nil : JSONMember("groups", .array(groups)),
            when.isEmpty ? nil : JSONMember("when", .object(when)),
            after,
            state.run == nil ? nil : JSONMember("run", true),
            state.enter.isEmpty && state.leave.isEmpty ? nil : JSONMember("hooks", true),
            moves.isEmpty ? nil : JSONMember("moves", .object(moves)),
            state.isFinal ? JSONMember("final", true) : nil,
            state.mark.map { JSONMember("mark", .string($0.rawValue)) },
        ].compactMap(\.self)
    }

    private func word(for reaction: DeclaredCase.Reaction) -> String {
        switch reaction {
        case .enter(let target): self.states[target.state].name
        case .stay: "stay"
        case .again: "again"
        case .ignore: "ignore"
        }
    }

    private func name(_ target: DeclaredTarget) -> JSONValue {
        .string(self.states[target.state].name)
    }
}
