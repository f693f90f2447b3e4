public import Observation

extension StateMachine {
    /// Adds a receptionist, which receives the transitions where they are made, and redirects those
    /// that are wanted to one task on one context: Apple's Cocoa pattern, not a service registry.
    ///
    /// Every later transition that `select` lets through is delivered, or counted as coalesced or
    /// dropped.
    ///
    /// - Parameters:
    ///   - context: where the task runs.
    ///   - select: pure; what of a transition to give the task, nil to leave it out.
    ///   - selectsAtSource: whether `select` runs on the committing thread, after the lock, so that
    ///     what it leaves out costs the context nothing; else it runs on the context.
    ///   - delivery: which values the task gets, and when, by the machine's clock.
    ///   - start: whether `select` is first called with the current state, as a transition from
    ///     that state to itself with its seq.
    ///   - task: called with the values; it must not block the context.
    /// - Returns: its registration. Cancelling it ends it, and discards what has been collected by
    ///   then.
    @discardableResult
    public func addReceptionist<Value: Sendable>(
        on context: any ExecutionContext,
        selecting select: @escaping @Sendable (Transition<State>) -> Value?,
        atSource selectsAtSource: Bool = false,
        delivering delivery: Delivery<Value> = .each,
        starting start: Start = .next,
        task: @escaping @Sendable (Delivery<Value>.Batch) -> Void
    ) -> Registration {
        let clock = self.machine.options.clock
        let select: @Sendable (Change) -> Value? = { select(Transition($0)) }
        guard selectsAtSource else {
            let calls = ReceivingMember<Value>.Calls(
                select: select,
                task: { batch, _ in task(batch) }
            )
            let member = ReceivingMember(delivery, by: clock, for: .init(start: start), calls)
            return self.machine.add(member, on: context)
        }
        let receptionist = EventReceptionist(
            on: context,
            delivering: delivery,
            clock: clock,
            task: task
        )
        let member = ScreeningMember(for: receptionist, starting: start, select: select)
        // A place of its own: nothing there waits for another's delegates.
        _ = self.machine.register(member, on: ImmediateContext())
        // Its drain keeps the place where the task runs, for as long as it does; the receptionist goes before.
        return Registration(of: member) { [weak member = receptionist.member] ended in
            if let member { member.end(quiet: ended) } else { ended() }
        }
    }

    /// Adds a receptionist that gives a task the value at `path` of the state when it has changed.
    ///
    /// - Parameters:
    ///   - path: the part of the state that it observes.
    ///   - context: where the task runs.
    ///   - delivery: which values the task gets, and when, by the machine's clock.
    ///   - task: called with the values; it must not block the context.
    /// - Returns: its registration.
    @discardableResult
    public func addReceptionist<Value: Sendable & Equatable>(
        of path: any KeyPath<State, Value> & Sendable,
        on context: any ExecutionContext,
        delivering delivery: Delivery<Value> = .each,
        task: @escaping @Sendable (Delivery<Value>.Batch) -> Void
    ) -> Registration {
        self.addReceptionist(
            on: context,
            selecting: { transition in
                let new = transition.new[keyPath: path]
                return transition.old[keyPath: path] == new ? nil : new
            },
            delivering: delivery,
            task: task
        )
    }
}

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

extension StateMachine {
    /// Calls `body` whenever the machine enters one of some states.
    ///
    /// A state that is entered anew, or with other values, counts as entered; one whose stay only
    /// goes on, as with an update in a daemon, does not.
    ///
    /// - Parameters:
    ///   - name: a state, without its values.
    ///   - others: more of them.
    ///   - context: where `body` runs; by default on the thread that set the state, before the
    ///     assignment returns.
    ///   - body: called with the transition.
    /// - Returns: its registration.
    @discardableResult
    public func onEnter(
        _ name: State.Name,
        _ others: State.Name...,
        on context: any ExecutionContext = .immediate,
        do body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        self.onStay(on: context, of: Set([name] + others).texts, if: { _ in true }, do: body)
    }

    /// Calls `body` whenever the machine leaves one of some states, even for the same state with
    /// other values.
    ///
    /// As ``onEnter(_:_:on:do:)``. For work that lasts as long as a stay, use ``during(_:_:body:)``.
    @discardableResult
    public func onExit(
        _ name: State.Name,
        _ others: State.Name...,
        on context: any ExecutionContext = .immediate,
        do body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let names = Set([name] + others).texts
        return self.onStay(on: context, of: nil, if: { names.contains($0.old.name) }, do: body)
    }

    /// Calls `body` with the transitions that begin a stay, if they are meant.
    private func onStay(
        on context: any ExecutionContext,
        of names: Set<String>?,
        if isMeant: @escaping @Sendable (Change) -> Bool,
        do body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let calls = CallingMember.Calls(change: { _, entry in
            guard entry.change.beginsStay, isMeant(entry.change) else { return false }
            body(Transition(entry.change))
            return true
        })
        return self.machine.add(CallingMember(for: .init(names: names), calls), on: context)
    }
}
