public import Observation

/// For what tracks what it reads: `withObservationTracking`, `Observations`, a view.
extension StateMachine: Observable {
    /// The state, as ``state``; whoever reads it while what is read is tracked is told of the next transition.
    ///
    /// The machine has moved on when that is told, by the thread that set it. It costs nothing where nobody reads it.
    public var observed: State {
        let observation = self.observation.withLock { observation in
            if let observation { return observation }
            let first = StateObservation(of: self)
            // Under the lock, so that no other reader is let by before the machine tells.
            self.addDelegate(first, retaining: true)
            observation = first
            return first
        }
        // Before the state is read: no transition lies between.
        observation.registrar.access(self, keyPath: \.observed)
        return self.state
    }
}

/// Tells those who track a machine's state of its transitions.
final class StateObservation<State: MachineState>: StateDelegate {
    let registrar = ObservationRegistrar()
    private weak let machine: StateMachine<State>?

    init(of machine: StateMachine<State>) { self.machine = machine }

    func stateChanged(_ transition: Transition<State>) { self.changed() }

    func transitionsMissed(_ count: Int, now: Snapshot<State>) { self.changed() }

    private func changed() {
        guard let machine = self.machine else { return }
        self.registrar.withMutation(of: machine, keyPath: \.observed) {}
    }
}
