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
        let described: JSONValue = [
            "machine": self.machine.map { .string($0) } ?? .null, "states": .array(states),
            "initial": ["state": .string(self.initial.declared.name)],
            "transitions": schema.describedTransitions, "events": schema.describedEvents ?? [:],
        ]
        guard let links = schema.describedLinks else { return described }
        return .object((described.members ?? []) + [JSONMember("links", links)])
    }

    /// What `describe` says of a state besides its fields.
    func behaviour(of number: Int) -> [JSONMember] {
        let state = self.states[number]
        let groups = self.groups(of: number).map { JSONValue.string($0.name) }
        let when =
            state.reactions.sorted { $0.key < $1.key }.map { event, cases in
                JSONMember(self.events[event].name, self.described(cases))
            } + state.lookouts.map { JSONMember($0.condition.written, self.described($0.cases)) }
        let requirements = state.requirements.map { JSONValue.string($0.written) }
        let exits = (state.run?.exits ?? [:]).sorted { $0.key < $1.key }
        let ends: [(Edge.Kind, [Branch]?)] =
            [(.done, state.run?.done)] + exits.map { (.exit($0.key), $0.value) }
            + [
                (.failed, state.run?.failed), (.interrupted, state.run?.interrupted),
                (.boot, state.boot),
            ]
        let moves = ends.compactMap { kind, cases -> JSONMember? in
            // That a command is run again leads nowhere.
            guard let cases, cases.contains(where: { $0.outcome != .rerun }) else { return nil }
            return JSONMember(kind.label, self.described(cases))
        }
        return [
            state.about.map { JSONMember("about", .string($0)) },
            groups.isEmpty ? nil : JSONMember("groups", .array(groups)),
            requirements.isEmpty ? nil : JSONMember("requires", .array(requirements)),
            when.isEmpty ? nil : JSONMember("when", .object(when)),
            self.described(state.after).map { JSONMember("after", $0) },
            state.run == nil ? nil : JSONMember("run", true),
            state.enter.isEmpty && state.leave.isEmpty ? nil : JSONMember("hooks", true),
            moves.isEmpty ? nil : JSONMember("moves", .object(moves)),
            state.isFinal ? JSONMember("final", true) : nil,
            state.mark.map { JSONMember("mark", .string($0.rawValue)) },
        ].compactMap(\.self)
    }

    /// Times: an object for one of the state's own that the file says, as ever, else a list; nil if there are none.
    private func described(_ times: [StateDeclaration.Deadline]) -> JSONValue? {
        let all = times.map { time -> JSONValue in
            let leads = self.described(time.cases)
            let moment: JSONMember =
                switch time.moment {
                case .after(let delay): JSONMember("ms", .integer(delay.wholeMilliseconds))
                case .field(let name): JSONMember("field", .string(name))
                }
            return .object(
                [
                    moment, time.group.map { JSONMember("group", .string($0)) },
                    JSONMember(leads.elements == nil ? "state" : "cases", leads),
                ].compactMap(\.self)
            )
        }
        guard all.count == 1, times[0].group == nil, case .after = times[0].moment else {
            return all.isEmpty ? nil : .array(all)
        }
        return all[0]
    }

    /// Cases: the state or the word where one alone always holds, else a list.
    private func described(_ cases: [Branch]) -> JSONValue {
        if cases.count == 1, cases[0].conditions.isEmpty {
            switch cases[0].outcome {
            case .enter(let target): return .string(self.states[target.state].name)
            case .again: return "again"
            case .stay: return "stay"
            case .ignore: return "ignore"
            case .rerun: return "again"
            case .keep, .refuse: break
            }
        }
        return .array(cases.map { self.described($0) })
    }

    private func described(_ branch: Branch) -> JSONValue {
        let written = branch.outcome.target?.written.joined(separator: " ") ?? ""
        let conditions = branch.conditions.map(\.written).joined(separator: ", ")
        let leads: JSONMember =
            switch branch.outcome {
            case .enter(let target): JSONMember("to", .string(self.states[target.state].name))
            case .again, .rerun: JSONMember("to", "again")
            case .keep: JSONMember("to", "keep")
            case .stay: JSONMember("to", "stay")
            case .ignore: JSONMember("to", "ignore")
            case .refuse(let why): JSONMember("refuse", .string(why))
            }
        return .object(
            (conditions.isEmpty ? [] : [JSONMember("if", .string(conditions))]) + [leads]
                + (written.isEmpty ? [] : [JSONMember("with", .string(written))])
        )
    }
}
