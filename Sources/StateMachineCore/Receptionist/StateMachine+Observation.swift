public import Observation

/// For code that tracks what it reads: `withObservationTracking`, `Observations`, a view.
extension StateMachine: Observable {
    /// The state, as ``state``; a tracked closure that reads it is notified of the next transition.
    ///
    /// By then the machine has moved on; the notification comes from the thread that set it.
    /// Tracking begins when the closure has returned: a transition that another thread makes just
    /// before is not reported, as with everything that is tracked. A machine where nobody reads
    /// this pays nothing for it.
    public var observed: State {
        let member = self.observation.withLock { observation in
            if let observation { return observation }
            let first = ObservationMember(of: self)
            // Under the lock, so that no other reader gets past before the machine notifies.
            _ = self.register(first, on: .immediate)
            observation = first
            return first
        }
        member.registrar.access(self, keyPath: \.observed)
        return self.state
    }
}

/// Notifies those who track a machine's state of its transitions; it cannot know whether there are
/// any.
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
