package import StateMachineProtocol

/// What a declared machine does beside being set.
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
            switch try self.declaration.verdict(on: event, data: data, in: state) {
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
        with data: [JSONMember]
    ) throws(WireError) -> DeclaredState {
        do {
            return try self.declaration.updated(state, with: data)
        } catch {
            throw WireError(error)
        }
    }

    package func deadline(of state: DeclaredState) -> Deadline<DeclaredState>? {
        self.declaration.deadline(of: state).map { delay, move in
            Deadline(delay: delay, next: move.state, cause: move.cause)
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

extension DeclaredField {
    fileprivate var described: JSONValue {
        var members = [JSONMember("type", .string(self.type.rawValue))]
        if !self.values.isEmpty { members.append(JSONMember("values", .array(self.values))) }
        if self.isOptional { members.append(JSONMember("optional", .bool(true))) }
        if let fallback { members.append(JSONMember("default", fallback)) }
        return .object(members)
    }
}
