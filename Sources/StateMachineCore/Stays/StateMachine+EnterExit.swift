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
        let member = StayEndMember<State>(of: Set(names)) { transition in
            guard transition.beginsStay else { return false }
            body(transition)
            return true
        }
        return self.add(member, on: context)
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
        let names = Set(names)
        let member = StayEndMember<State>(of: nil) { transition in
            guard transition.beginsStay, names.contains(transition.old.name) else { return false }
            body(transition)
            return true
        }
        return self.add(member, on: context)
    }
}

extension Transition {
    /// Whether the state was entered; false if only what it carries changed.
    fileprivate var beginsStay: Bool { self.stay == self.seq }
}

/// A closure as a member that hears of one end of certain stays, and of nothing else.
///
/// `@unchecked Sendable`: `body` is released once, when no call runs and none will begin.
private final class StayEndMember<State: MachineState>: Member<State>, @unchecked Sendable {
    /// Returns whether it was meant.
    @exclusivity(unchecked) private var body: (@Sendable (Transition<State>) -> Bool)?

    init(of names: Set<State.Name>?, _ body: @escaping @Sendable (Transition<State>) -> Bool) {
        self.body = body
        super.init(of: names)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.body?(transition) ?? false
    }

    override func letGo() { self.body = nil }
}
