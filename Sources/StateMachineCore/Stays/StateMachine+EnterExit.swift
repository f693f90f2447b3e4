extension StateMachine {
    /// Calls `body` whenever the machine enters one of some states.
    ///
    /// A state that is entered anew, or with other values, is entered; one whose stay only goes on, as by an update in a
    /// daemon, is not.
    ///
    /// - Parameters:
    ///   - names: the states.
    ///   - context: where; unless said, on the thread that set the state, before the assignment returns.
    ///   - body: given the transition.
    /// - Returns: its place.
    @discardableResult
    public func onEnter(
        _ names: State.Name...,
        on context: any ExecutionContext = .immediate,
        do body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        self.addObserver(on: context, of: Set(names)) { transition in
            if transition.beginsStay { body(transition) }
        }
    }

    /// Calls `body` whenever the machine leaves one of some states, be it for itself with other values.
    ///
    /// As ``onEnter(_:on:do:)``. What belongs to a stay and needs both ends is a task of ``during(_:body:)``.
    @discardableResult
    public func onExit(
        _ names: State.Name...,
        on context: any ExecutionContext = .immediate,
        do body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let names = Set(names)
        return self.addObserver(on: context) { transition in
            if transition.beginsStay, names.contains(transition.old.name) { body(transition) }
        }
    }
}

extension Transition {
    /// Whether the state was entered, and did not only change what it carries.
    fileprivate var beginsStay: Bool { self.stay == self.seq }
}
