import StateMachineCore
package import StateMachineProtocol

/// What an event does to the state that it finds.
package enum EventEffect: Hashable, Sendable {
    /// This state is entered: a new stay.
    case enter(DeclaredState)
    /// The same state is entered anew, perhaps with the event's data: a new stay.
    case again(DeclaredState)
    /// Handled: nothing changes but the deadline, which begins anew.
    case stay
    /// Handled: nothing changes.
    case ignored
    /// The state has no reaction to it.
    case notHandled
}

/// A move that a machine makes by itself.
package struct OwnMove: Hashable, Sendable {
    /// The state that is entered.
    package let state: DeclaredState
    /// What led to it.
    package let kind: Edge.Kind

    /// What led to it, in words: `after 2min`, `boot`, `done`, `exit 21`, `failed`, `interrupted`.
    package var cause: String { self.kind.label }
}

// The declaration's decisions. Pure: the same answer every time, without clocks and without
// effects.
extension Declaration {
    /// The state that a client asks to set.
    ///
    /// - Throws: If there is no such state, or its data does not fit. Whether it may be set from
    ///   the present state is decided by ``legality(of:from:)``.
    package func proposed(
        _ name: String,
        data: [JSONMember]
    ) throws(DeclaredRefusal) -> DeclaredState {
        try self.state(name, data: data)
    }

    /// Why one state may not be set from another; nil if it may.
    package func legality(
        of next: DeclaredState,
        from present: DeclaredState
    ) -> DeclaredRefusal? {
        guard !present.mayBecome(next) else { return nil }
        return .illegalTransition(
            next.declared.name,
            from: present.declared.name,
            allowed: present.declared.successors.map { self.states[$0].name }
        )
    }

    /// What an event does in a state.
    ///
    /// - Throws: ``DeclaredRefusal/unknownEvent(_:known:)``, or ``DeclaredRefusal/badData(_:known:)`` if the data
    ///   does not fit the event, or the state that it leads to.
    package func effect(
        of event: String,
        data: [JSONMember],
        in present: DeclaredState
    ) throws(DeclaredRefusal) -> EventEffect {
        let number = try self.number(ofEvent: event)
        let fields = self.events[number].fields
        var values = try fields.values(of: data, owner: event)
        for (index, field) in fields.enumerated() where values[index] == nil {
            values[index] = field.fallback
            guard values[index] != nil || field.isOptional else {
                throw .lacks(field, owner: event)
            }
        }
        switch present.declared.reactions[number] {
        case .enter(let target): return .enter(try self.evaluated(target, from: present, values))
        case .again(let target): return .again(try self.evaluated(target, from: present, values))
        case .stay: return .stay
        case .ignore: return .ignored
        case nil: return .notHandled
        }
    }

    /// The state with some fields changed: a given value replaces, null removes an optional field,
    /// an amount is added.
    package func updated(
        _ present: DeclaredState,
        with data: [JSONMember],
        adding amounts: [JSONMember] = []
    ) throws(DeclaredRefusal) -> DeclaredState {
        let state = present.declared
        var values = present.values
        for member in data {
            let index = try state.fields.index(of: member.key, owner: state.name)
            let field = state.fields[index]
            if member.value != .null {
                values[index] = try field.evaluated(member.value)
            } else if field.isOptional {
                values[index] = nil
            } else {
                throw .badData(
                    "\(field.name)=null: \(state.name.quoted) needs it; only an optional field can be removed",
                    known: []
                )
            }
        }
        for member in amounts {
            let index = try state.fields.index(of: member.key, owner: state.name)
            let field = state.fields[index]
            values[index] = try field.evaluated(
                field.sum(of: present.values[index], and: member.value)
            )
        }
        return DeclaredState(self, present.number, values)
    }

    /// When `after` moves the state, counted from the stay's start, and where; nil if never.
    package func deadline(of present: DeclaredState) -> (delay: Duration, move: OwnMove)? {
        present.declared.after.map { after in
            (after.delay, self.move(after.target, from: present, .after(after.delay)))
        }
    }

    /// The move at the first start in a new boot; nil if the state goes on.
    package func boot(of present: DeclaredState) -> OwnMove? {
        present.declared.boot.map { self.move($0, from: present, .boot) }
    }

    /// The move that follows the end of a run that is not retried; nil if the stay goes on.
    ///
    /// An interruption after which the command is to be run again leads where a failure does:
    /// whoever runs the command has to run it again first.
    package func move(on end: RunEnd, in present: DeclaredState) -> OwnMove? {
        guard let run = present.declared.run else { return nil }
        let failed = run.failed.map { self.move($0, from: present, .failed) }
        switch end {
        case .exit(0): return run.done.map { self.move($0, from: present, .done) }
        case .exit(let code):
            return run.exits[code].map { self.move($0, from: present, .exit(code)) } ?? failed
        case .signal, .timeout: return failed
        case .interrupted:
            guard case .enter(let target) = run.interrupted else { return failed }
            return self.move(target, from: present, .interrupted)
        }
    }

    private func move(
        _ target: DeclaredTarget,
        from present: DeclaredState,
        _ kind: Edge.Kind
    ) -> OwnMove {
        OwnMove(state: self.filled(target, from: present, event: []), kind: kind)
    }
}
