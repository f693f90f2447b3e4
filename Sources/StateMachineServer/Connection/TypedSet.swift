import StateMachineCore
import StateMachineProtocol

/// A `set`, an event or an update that has not been decided, of a machine of states of one type, so that what the
/// machine is to call holds one object.
///
/// `@unchecked Sendable`: `made` is written at its turn, and read when it is answered, which is later.
final class TypedSet<State: MachineState & Hashable>: PendingSet, @unchecked Sendable {
    /// What it came to at its turn.
    enum Found: Sendable {
        /// That state, which is encoded already.
        case state(TypedState<State>)
        /// Nothing changes; whether the deadline begins anew.
        case handled(renewing: Bool)
        /// The state does not ask for it.
        case unhandled
        /// What is in force by now does not take it.
        case rejected(WireError)
        /// It may not follow the state that it found.
        case illegal
    }

    /// What it comes to where the machine stands at its turn.
    enum Making: Sendable {
        /// That state, which is by far the most common case and has to cost nothing; it is made anew only if another file is in force
        /// by then.
        case set(TypedState<State>)
        case made(@Sendable (Snapshot<State>) throws(WireError) -> Found)
    }

    let machine: TypedMachine<State>
    private let making: Making
    /// The state that it leads to wherever the machine stands then; nil if that has to be made there.
    let plain: TypedState<State>?
    /// What was made where it was evaluated last; nil: it was as it was asked for.
    @exclusivity(unchecked) private var made: Found?

    /// Not decided yet.
    init(
        _ request: ChangeRequest,
        _ making: Making,
        _ machine: TypedMachine<State>,
        isOrdered: Bool,
        of owner: Sets
    ) {
        self.machine = machine
        self.making = making
        switch making {
        case .set(let typed) where machine.coding.behaviour == nil: self.plain = typed
        case .set, .made: self.plain = nil
        }
        super.init(request, isOrdered: isOrdered, of: owner)
    }

    /// What it came to where it was evaluated last.
    var found: Found {
        switch (self.made, self.making) {
        case (let made?, _): made
        case (nil, .set(let typed)): .state(typed)
        case (nil, .made): .unhandled
        }
    }

    /// Whether it is to happen where the machine stands then.
    func isExpected(_ snapshot: Snapshot<State>) -> Bool {
        guard self.turnCame() else { return false }
        if self.request.isUnconditional { return true }
        let (seq, stay, patterns) = self.request.conditions
        return self.machine.coding.matches(seq, patterns, stay, snapshot)
    }

    /// The state that it leads to from there; nil if nothing is to change.
    func state(from snapshot: Snapshot<State>) -> TypedState<State>? {
        let found: Found
        do {
            switch self.making {
            case .set(let typed):
                if snapshot.mayBecome(typed.state) {
                    if self.made != nil { self.made = nil }
                    return typed
                }
                found = try self.machine.coding.made(of: typed, from: snapshot)
            case .made(let make): found = try make(snapshot)
            }
        } catch {
            found = .rejected(error)
        }
        self.made = found
        guard case .state(let typed) = found else { return nil }
        return typed
    }
}

extension Snapshot {
    /// Whether a client may set that state here: a state may always be set again from itself, and then changes
    /// nothing.
    fileprivate func mayBecome(_ next: State) -> Bool {
        self.state == next || self.state.mayBecome(next)
    }
}

extension StateCoding {
    /// What a state that was asked for comes to, which may have been read by another file than is in force.
    func made(
        of typed: TypedState<State>,
        from snapshot: Snapshot<State>
    ) throws(WireError) -> TypedSet<State>.Found {
        var typed = typed
        if let state = try self.behaviour?.restated(typed.state, in: snapshot.state) {
            typed = try self.checked(state)
        }
        return snapshot.mayBecome(typed.state) ? .state(typed) : .illegal
    }

    /// What an event or an update comes to; `willRenew` is called if the deadline is to begin anew.
    func made(
        of call: EventCall,
        from snapshot: Snapshot<State>,
        renewing willRenew: (Snapshot<State>) -> Void
    ) throws(WireError) -> TypedSet<State>.Found {
        guard let behaviour = self.behaviour else { return .unhandled }
        let state = snapshot.state
        switch call {
        case .send(let call):
            let data = call.data?.members ?? []
            switch try behaviour.reaction(to: call.event, data: data, in: state) {
            case .enter(let next): return .state(try self.checked(next))
            case .stay:
                willRenew(snapshot)
                return .handled(renewing: true)
            case .ignore: return .handled(renewing: false)
            case .unhandled: return .unhandled
            }
        case .update(let call):
            let given = FieldWords(
                values: call.data?.members ?? [],
                words: call.words,
                amounts: call.add
            )
            let data = try given.members(
                typedBy: behaviour.fields(of: state),
                of: state.name.rawValue,
                isUpdate: true
            )
            return .state(
                try self.checked(behaviour.updated(state, with: data, adding: call.add))
            )
        }
    }

    /// The state as it is shown, if that is not too long.
    func checked(_ state: State) throws(WireError) -> TypedState<State> {
        let typed = TypedState(state, self)
        try typed.checkLength()
        return typed
    }
}
