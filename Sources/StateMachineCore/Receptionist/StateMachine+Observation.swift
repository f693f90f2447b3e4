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
        let registrar = self.observation.withLock { observation in
            if let observation { return observation }
            let first = ObservationRegistrar()
            let notify: @Sendable () -> Void = { [weak self] in
                if let self { first.withMutation(of: self, keyPath: \.observed) {} }
            }
            let member = CallingMember(
                // It cannot know whether anybody tracks.
                listens: false,
                .init(
                    change: { _, _ in
                        notify()
                        return false
                    },
                    missed: { _, _, _ in notify() }
                )
            )
            // Under the lock, so that no other reader gets past before the machine notifies.
            _ = self.machine.register(member, on: .immediate)
            observation = first
            return first
        }
        registrar.access(self, keyPath: \.observed)
        return self.state
    }
}
