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
        let scheduler = DeliveryScheduler(
            delivery,
            clock: self.machine.options.clock,
            task: task
        )
        let select: @Sendable (Change) -> Value? = { select(Transition($0)) }
        guard selectsAtSource else {
            let member = ReceivingMember(scheduler, select: select, starting: start)
            return self.machine.add(member, on: context)
        }
        let inbox = Inbox(scheduler, capacity: delivery.limit)
        let serialTurn = inbox.turns(on: context)
        let member = ScreeningMember(
            inbox,
            select: select,
            starting: start,
            emptiedIn: serialTurn
        )
        _ = self.machine.register(member, on: InlineContext())
        return Registration(self.machine.registration(of: member)) { [weak serialTurn] ended in
            guard let serialTurn else { return ended() }
            serialTurn.close(quiet: ended)
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
