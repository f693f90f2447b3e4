/// An actor as an execution context: one task for each burst, inside the actor's isolation.
///
/// Tasks created one after the other may run in another order; within one task the lane reads its
/// log, so the actor still hears everything in order.
///
/// The actor is held weakly: when it is gone, so are its members, and the lane's drain finds none.
/// Its memory is kept, because its address is the lane's identity: another actor there would join
/// the lane of the one that is gone.
final class ActorContext<A: Actor>: ExecutionContext {
    private weak let actor: A?
    /// Never read; keeps the address from being reused.
    ///
    /// An object's memory is not freed before the last unowned reference to it goes.
    private unowned(safe) let place: A
    let identity: ObjectIdentifier

    init(_ actor: A) {
        self.actor = actor
        self.place = actor
        self.identity = ObjectIdentifier(actor)
    }

    func enqueue(_ job: @escaping @Sendable () -> Void) {
        guard let actor = self.actor else {
            job()
            return
        }
        // Not kept: it ends with the burst, and a lane has at most one.
        Task { await actor.perform(job) }
    }
}

extension Actor {
    fileprivate func perform(_ job: @Sendable () -> Void) { job() }
}

extension StateMachine {
    /// Calls `body` with every transition from now on, inside `actor`'s isolation, in order.
    ///
    /// - Parameters:
    ///   - actor: where `body` runs.
    ///   - names: the states whose entry it hears of; nil: all.
    ///   - retaining: whether the machine keeps the actor alive until its registration is
    ///     cancelled.
    ///   - start: whether it hears of the current state first, as described at
    ///     ``addDelegate(_:on:of:retaining:starting:delivering:)``.
    ///   - delivery: which transitions it hears of, and when, by the machine's clock; by default
    ///     each.
    ///   - body: what to do; it may retain the actor by capturing it.
    /// - Returns: its registration. An actor may have several.
    @discardableResult
    public func addDelegate<A: Actor>(
        _ actor: A,
        of names: Set<State.Name>? = nil,
        retaining: Bool = false,
        starting start: Start = .next,
        delivering delivery: Delivery<Transition<State>> = .each,
        _ body: @escaping @Sendable (isolated A, Transition<State>) -> Void
    ) -> Registration {
        self.addObject(
            actor,
            on: ActorContext(actor),
            of: names,
            retaining: retaining,
            starting: start,
            delivering: delivery
        ) { actor, transition in
            actor.assumeIsolated { body($0, transition) }
        }
    }
}

extension MulticastDelegate {
    /// Adds an actor, to be called inside its isolation, after the present members.
    ///
    /// A facet of actors refines `Actor`, so a call to it may assume isolation:
    ///
    /// ```swift
    /// protocol EnemyCounting: Actor { func appeared(_ enemy: Enemy) }
    ///
    /// watchers.add(counter)
    /// watchers.broadcast((any EnemyCounting).self) { $0.assumeIsolated { $0.appeared(enemy) } }
    /// ```
    ///
    /// - Parameters:
    ///   - actor: the actor to call.
    ///   - label: its name when it votes no; nil: its type.
    ///   - retaining: whether it is kept alive until its registration is cancelled.
    /// - Returns: its registration.
    @discardableResult
    public func add<A: Actor>(
        _ actor: A,
        label: String? = nil,
        retaining: Bool = false
    ) -> Registration {
        self.add(actor, on: ActorContext(actor), label: label, retaining: retaining)
    }
}
