import StateMachineCore
package import StateMachineProtocol

/// What a declared machine does besides being set.
package struct DeclaredBehaviour: StateBehaviour {
    private let declaration: Declaration

    init(_ declaration: Declaration) {
        self.declaration = declaration
    }

    package func reaction(
        to event: String,
        data: [JSONMember],
        in state: DeclaredState
    ) throws(WireError) -> Reaction<DeclaredState> {
        do {
            switch try state.declaration.effect(of: event, data: data, in: state) {
            case .enter(let next), .again(let next): return .enter(next)
            case .stay: return .stay
            case .ignored: return .ignore
            case .notHandled: return .unhandled
            }
        } catch {
            throw WireError(error)
        }
    }

    package func updated(
        _ state: DeclaredState,
        with data: [JSONMember],
        adding amounts: [JSONMember]
    ) throws(WireError) -> DeclaredState {
        do {
            return try state.declaration.updated(state, with: data, adding: amounts)
        } catch {
            throw WireError(error)
        }
    }

    package func move(
        onEndOfRun data: [JSONMember],
        in state: DeclaredState
    ) throws(WireError) -> MachineMove<DeclaredState>? {
        let end: RunEnd
        do {
            end = try RunEnd(data)
        } catch {
            throw WireError(error)
        }
        return state.declaration.move(on: end, in: state).map {
            .init(to: $0.state, cause: $0.cause)
        }
    }

    package func deadline(of state: DeclaredState) -> Deadline<DeclaredState>? {
        guard state.isTimed else { return nil }
        return state.declaration.deadline(of: state).map { delay, move in
            Deadline(delay: delay, .init(to: move.state, cause: move.cause))
        }
    }

    package func boot(of state: DeclaredState) -> MachineMove<DeclaredState>? {
        state.declaration.boot(of: state).map { .init(to: $0.state, cause: $0.cause) }
    }

    package func isDeclared(_ event: String) -> Bool {
        self.declaration.eventNumber(event) != nil
    }

    package func allowance(of state: DeclaredState) -> (moves: Int, time: Duration) {
        (state.declaration.breaker.most, state.declaration.breaker.time)
    }

    package func fields(of state: DeclaredState) -> [StateField] {
        state.declared.fields.map(StateField.init)
    }

    package func isMember(_ state: DeclaredState, ofGroup name: String) -> Bool {
        state.declaration.groups(of: state.number).contains { $0.name.isSpelled(name) }
    }

    package func declaration(of state: DeclaredState) -> RecordedDeclaration {
        state.declaration.recorded
    }

    package func restated(
        _ state: DeclaredState,
        in present: DeclaredState
    ) throws(WireError) -> DeclaredState? {
        guard state.form !== present.form else { return nil }
        do {
            return try present.declaration.state(
                state.declared.name,
                data: state.membersBesideDefaults
            )
        } catch {
            throw WireError(error)
        }
    }

    // MARK: - For `describe`

    package var machine: String? { self.declaration.machine }

    package var events: JSONValue {
        .object(
            self.declaration.events.map { event in
                let fields = event.fields.map { JSONMember($0.name, $0.described) }
                return JSONMember(event.name, .object(fields))
            }
        )
    }

    package func description(of name: String) -> [JSONMember] {
        guard let number = self.declaration.stateNumber(name) else { return [] }
        let state = self.declaration.states[number]
        let groups = self.declaration.groups(of: number).map { JSONValue.string($0.name) }
        let when = state.reactions.sorted { $0.key < $1.key }.map { event, reaction in
            JSONMember(self.declaration.events[event].name, .string(self.word(for: reaction)))
        }
        let moves = self.declaration.edges(from: number).compactMap { edge -> JSONMember? in
            switch edge.kind {
            case .event, .after, .set: nil
            case .done, .exit, .failed, .interrupted, .boot:
                JSONMember(
                    edge.kind.label,
                    .string(self.declaration.states[edge.to].name)
                )
            }
        }
        let after = state.after.map { after in
            JSONMember(
                "after",
                .object([
                    JSONMember("ms", .number("\(after.delay.wholeMilliseconds)")),
                    JSONMember("state", self.name(after.target)),
                ])
            )
        }
        return [
            state.about.map { JSONMember("about", .string($0)) },
            groups.isEmpty ? nil : JSONMember("groups", .array(groups)),
            when.isEmpty ? nil : JSONMember("when", .object(when)),
            after,
            state.run == nil ? nil : JSONMember("run", .bool(true)),
            state.enter.isEmpty && state.leave.isEmpty ? nil : JSONMember("hooks", .bool(true)),
            moves.isEmpty ? nil : JSONMember("moves", .object(moves)),
            state.isFinal ? JSONMember("final", .bool(true)) : nil,
        ].compactMap(\.self)
    }

    private func word(for reaction: DeclaredCase.Reaction) -> String {
        switch reaction {
        case .enter(let target): self.declaration.states[target.state].name
        case .stay: "stay"
        case .again: "again"
        case .ignore: "ignore"
        }
    }

    private func name(_ target: DeclaredTarget) -> JSONValue {
        .string(self.declaration.states[target.state].name)
    }
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

extension DeclaredField {
    fileprivate var described: JSONValue {
        var members = [JSONMember("type", .string(self.type.rawValue))]
        if !self.values.isEmpty { members.append(JSONMember("values", .array(self.values))) }
        if self.isOptional { members.append(JSONMember("optional", .bool(true))) }
        if let fallback { members.append(JSONMember("default", fallback)) }
        return .object(members)
    }
}
