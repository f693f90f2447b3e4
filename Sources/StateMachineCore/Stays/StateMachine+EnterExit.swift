extension StateMachine {
    /// Calls `body` whenever the machine enters one of some states.
    ///
    /// A state that is entered anew, or with other values, counts as entered; one whose stay only
    /// goes on, as with an update in a daemon, does not.
    ///
    /// - Parameters:
    ///   - names: the states.
    ///   - context: where `body` runs; by default on the thread that set the state, before the
    ///     assignment returns.
    ///   - body: called with the transition.
    /// - Returns: its registration.
    @discardableResult
    public func onEnter(
        _ names: State.Name...,
        on context: any ExecutionContext = .immediate,
        do body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let calls = CallingMember.Calls(change: { _, entry in
            guard entry.change.beginsStay else { return false }
            body(Transition(entry.change))
            return true
        })
        return self.machine.add(CallingMember(of: Set(names).texts, calls), on: context)
    }

    /// Calls `body` whenever the machine leaves one of some states, even for the same state with
    /// other values.
    ///
    /// As ``onEnter(_:on:do:)``. For work that lasts as long as a stay, use ``during(_:body:)``.
    @discardableResult
    public func onExit(
        _ names: State.Name...,
        on context: any ExecutionContext = .immediate,
        do body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let names = Set(names).texts
        let calls = CallingMember.Calls(change: { _, entry in
            let change = entry.change
            guard change.beginsStay, names.contains(change.old.name) else { return false }
            body(Transition(change))
            return true
        })
        return self.machine.add(CallingMember(calls), on: context)
    }
}
