import StateMachineCore
package import StateMachineProtocol

/// The form of a declared machine's states.
package struct DeclaredForm: StateForm {
    private let declared: Declaration
    package let schema: StateSchema

    /// The form of that declaration's states.
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
        self.schema = StateSchema(
            cases,
            events: declaration.events.map {
                StateSchema.Event($0.name, fields: $0.fields.map(StateField.init))
            },
            groups: declaration.groups.map { group in
                StateGroup(group.name, of: group.members.map { cases[$0] })
            },
            evaluate: { declaration.refusal(of: $1, in: $0).map { WireError($0) } }
        )
    }

    package var behaviour: (any StateBehaviour<DeclaredState>)? {
        DeclaredBehaviour(self.declared)
    }

    package var initial: DeclaredState { self.declared.initial }

    package var declaration: RecordedDeclaration? { self.declared.recorded }

    package var lost: DeclaredState? { self.declared.lostState }

    package func carried(
        _ name: String,
        data: [JSONMember]
    ) throws(NotCarriedOver) -> DeclaredState {
        try self.declared.carried(name, data: data)
    }

    package func data(of state: DeclaredState) -> JSONValue { state.data }

    package func state(
        _ name: String,
        data: JSONValue?
    ) throws(WireError) -> DeclaredState {
        // For the schema's error sentence, the same as for any machine.
        _ = try self.schema.case(name)
        guard let members = (data ?? .object([])).members else {
            throw WireError(.badData, "data of \(name) must be an object")
        }
        do {
            return try self.declared.state(name, data: members)
        } catch {
            throw WireError(error)
        }
    }
}

extension Declaration {
    /// What is wrong with a value for a state of that name; nil if the state may have it.
    fileprivate func refusal(of member: JSONMember, in name: String) -> DeclaredRefusal? {
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
            oldNames: field.oldNames
        )
    }
}

extension WireError {
    /// Why something that was asked for is not done.
    package init(_ refusal: DeclaredRefusal) {
        switch refusal {
        case .unknownState(_, let known): self.init(.unknownState, refusal.sentence, known: known)
        case .unknownEvent(_, let known): self.init(.unknownEvent, refusal.sentence, known: known)
        case .badData(_, let known): self.init(.badData, refusal.sentence, values: known)
        case .illegalTransition(_, _, let allowed):
            self.init(.illegalTransition, refusal.sentence, known: allowed)
        }
    }
}
