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
        let member = StayEndMember<State>(of: Set(names)) { transition in
            guard transition.beginsStay else { return false }
            body(transition)
            return true
        }
        return self.add(member, on: context)
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
        let member = StayEndMember<State>(of: nil) { transition in
            guard transition.beginsStay, names.contains(transition.old.name) else { return false }
            body(transition)
            return true
        }
        return self.add(member, on: context)
    }
}

extension Transition {
    /// Whether the state was entered, and did not only change what it carries.
    fileprivate var beginsStay: Bool { self.stay == self.seq }
}

/// A closure's place that hears of an end of some stays, and of nothing else.
///
/// `@unchecked Sendable`: `body` is let go of once, when no call runs and none will begin.
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
