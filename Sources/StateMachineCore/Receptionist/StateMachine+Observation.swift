public import Observation

/// For what tracks what it reads: `withObservationTracking`, `Observations`, a view.
extension StateMachine: Observable {
    /// The state, as ``state``; whoever has read it in a closure that is tracked is told of the next transition.
    ///
    /// The machine has moved on when that is told, by the thread that set it. Tracking begins when the closure has
    /// returned: of a transition that another thread makes just before, nobody is told, as of nothing that is tracked.
    /// A machine of which nobody reads this pays nothing for it.
    public var observed: State {
        let member = self.observation.withLock { observation in
            if let observation { return observation }
            let first = ObservationMember(of: self)
            // Under the lock, so that no other reader is let by before the machine tells.
            _ = self.register(first, on: .immediate)
            observation = first
            return first
        }
        member.registrar.access(self, keyPath: \.observed)
        return self.state
    }
}

/// Tells those who track a machine's state of its transitions; whether there are any, nobody knows.
///
/// `@unchecked Sendable`: its fields never change.
final class ObservationMember<State: MachineState>: Member<State>, @unchecked Sendable {
    let registrar = ObservationRegistrar()
    private weak let machine: StateMachine<State>?

    init(of machine: StateMachine<State>) {
        self.machine = machine
        super.init()
    }

    override var isAudience: Bool { false }

    override func receive(_ transition: Transition<State>) -> Bool {
        if let machine = self.machine {
            self.registrar.withMutation(of: machine, keyPath: \.observed) {}
        }
        return false
    }

    override func receiveMissed(_ count: Int, newest: Transition<State>) {
        _ = self.receive(newest)
    }
}
