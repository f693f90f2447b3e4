package import StateMachineCore
package import StateMachineProtocol

/// The schema of a machine that a file declares.
package final class DeclaredSchema: Schema {
    package let described: StateSchema
    private let declared: Declaration

    /// The schema of that declaration's states.
    package init(_ declaration: Declaration) {
        self.declared = declaration
        let names = declaration.stateNames
        let cases = declaration.states.map { state in
            StateSchema.Case(
                state.name,
                fields: state.fields.map(StateField.init),
                successors: state.successors.map { names[$0] },
                oldNames: state.oldNames
            )
        }
        self.described = StateSchema(
            cases,
            events: declaration.events.map {
                StateSchema.Event($0.name, fields: $0.fields.map(StateField.init))
            },
            groups: declaration.groups.map { group in
                StateGroup(group.name, of: group.members.map { cases[$0] })
            },
            evaluate: { declaration.refusal(of: $1, in: $0) }
        )
    }

    package var initial: Value { TypedValue(self.declared.initial) }

    package var declaration: RecordedDeclaration? { self.declared.recorded }

    package var lost: Value? { self.declared.lostState.map { TypedValue($0) } }

    package func carried(_ name: String, data: [JSONMember]) throws(NotCarriedOver) -> Value {
        TypedValue(try self.declared.carried(name, data: data))
    }

    package func data(of value: Value) -> JSONValue { value.declared.data }

    package func value(_ name: String, data: JSONValue?) throws(WireError) -> Value {
        // For the schema's error sentence, the same as for any machine.
        _ = try self.described.case(name)
        guard let members = (data ?? .object([])).members else {
            throw WireError(.badData, "data of \(name) must be an object")
        }
        return TypedValue(try self.declared.state(name, data: members))
    }

    // MARK: - What the machine does

    package func reaction(
        to event: String,
        data: [JSONMember],
        in value: Value
    ) throws(WireError) -> Reaction {
        try value.declared.reaction(to: event, data: data)
    }

    package func updated(
        _ value: Value,
        with data: [JSONMember],
        adding amounts: [JSONMember]
    ) throws(WireError) -> Value {
        TypedValue(try value.declared.updated(with: data, adding: amounts))
    }

    package func move(
        onEndOfRun data: [JSONMember],
        in value: Value
    ) throws(WireError) -> MachineMove? {
        value.declared.move(on: try RunEnd(data))
    }

    package func deadline(of value: Value) -> Deadline? { value.declared.deadline }

    package func boot(of value: Value) -> MachineMove? { value.declared.boot }

    package func allowance(of value: Value) -> (moves: Int, time: Duration)? {
        let breaker = value.declared.declaration.breaker
        return (breaker.most, breaker.time)
    }

    package func fields(of value: Value) -> [StateField] {
        value.declared.declared.fields.map(StateField.init)
    }

    package func isMember(_ value: Value, ofGroup name: String) -> Bool {
        let state = value.declared
        return state.declaration.groups(of: state.number).contains { $0.name.isSpelled(name) }
    }

    package func declaration(of value: Value) -> RecordedDeclaration? {
        value.declared.declaration.recorded
    }

    package func restated(_ value: Value, in present: Value) throws(WireError) -> Value? {
        let (state, present) = (value.declared, present.declared)
        guard state.declaration !== present.declaration else { return nil }
        return TypedValue(
            try present.declaration.state(state.declared.name, data: state.membersBesideDefaults)
        )
    }

    // MARK: - For `describe`

    package var events: JSONValue? {
        .object(self.declared.events.map { JSONMember($0.name, $0.fields.described) })
    }

    package func description(of name: String) -> [JSONMember] {
        guard let number = self.declared.stateNumber(name) else { return [] }
        let state = self.declared.states[number]
        let groups = self.declared.groups(of: number).map { JSONValue.string($0.name) }
        let when = state.reactions.sorted { $0.key < $1.key }.map { event, reaction in
            JSONMember(self.declared.events[event].name, .string(self.word(for: reaction)))
        }
        let moves = self.declared.edges(from: number).compactMap { edge -> JSONMember? in
            switch edge.kind {
            case .event, .after, .set: nil
            case .done, .exit, .failed, .interrupted, .boot:
                JSONMember(edge.kind.label, .string(self.declared.states[edge.to].name))
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
        case .enter(let target): self.declared.states[target.state].name
        case .stay: "stay"
        case .again: "again"
        case .ignore: "ignore"
        }
    }

    private func name(_ target: DeclaredTarget) -> JSONValue {
        .string(self.declared.states[target.state].name)
    }
}

extension Declaration {
    /// What a daemon would answer to `describe`, with the fields' defaults and the commands as they are written.
    package var described: JSONValue {
        let schema = DeclaredSchema(self)
        let states = self.states.map { state -> JSONValue in
            let commands = state.keyedCommands.map { JSONValue.string("\($0): \($1.written)") }
            return .object(
                [
                    JSONMember("state", .string(state.name)),
                    JSONMember("fields", state.fields.described),
                    JSONMember("commands", .array(commands)),
                ] + schema.description(of: state.name)
            )
        }
        let ways = self.states.map { state in
            JSONMember(state.name, .array(state.successors.map { .string(self.states[$0].name) }))
        }
        return [
            "machine": self.machine.map { .string($0) } ?? .null, "states": .array(states),
            "initial": ["state": .string(self.initial.declared.name)],
            "transitions": .object(ways), "events": schema.events ?? [:],
        ]
    }

    /// What is wrong with a value for a state of that name; nil if the state may have it.
    fileprivate func refusal(of member: JSONMember, in name: String) -> WireError? {
        do {
            guard let fields = self.states.first(where: { $0.name.isSpelled(name) })?.fields,
                case let field = fields[try fields.index(of: member.key, owner: name)],
                member.value != .null || !field.isOptional
            else { return nil }
            _ = try field.evaluated(member.value)
            return nil
        } catch {
            return error
        }
    }
}

extension StateField {
    init(_ field: DeclaredField) {
        self.init(
            field.name,
            type: field.type,
            values: field.values,
            isOptional: field.isOptional,
            hasDefault: field.fallback != nil,
            range: field.bounds.members,
            oldNames: field.oldNames
        )
    }
}

extension Value {
    var declared: DeclaredState { TypedValue.state(of: self) }
}

extension DeclaredState {
    /// Its data without fields that have their default: another declaration has its own defaults
    /// and need not have the field.
    fileprivate var membersBesideDefaults: [JSONMember] {
        zip(self.declared.fields, self.values).compactMap { field, value in
            value.flatMap { $0 == field.fallback ? nil : JSONMember(field.name, $0) }
        }
    }
}

extension [DeclaredField] {
    fileprivate var described: JSONValue { .object(self.map { JSONMember($0.name, $0.described) }) }
}

extension DeclaredField {
    var described: JSONValue {
        var members = [JSONMember("type", .string(self.type.rawValue))]
        if !self.values.isEmpty { members.append(JSONMember("values", .array(self.values))) }
        if self.isOptional { members.append(JSONMember("optional", true)) }
        if let fallback { members.append(JSONMember("default", fallback)) }
        return .object(members + self.bounds.members)
    }
}
