/// An actor as an execution context: one task for each burst, inside the actor's isolation.
///
/// Tasks that are made one after the other may run in another order; inside the one task the lane
/// reads its log, so what the actor is told is in order all the same.
///
/// The actor is held weakly: when it is gone its members are too, and the lane's drain finds nobody. Its
/// place in memory is held as well: it is the identity of a lane, and another actor there would join the
/// lane of the one that is gone.
final class ActorContext<A: Actor>: ExecutionContext {
    private weak let actor: A?
    /// Never read, it keeps the place.
    ///
    /// The memory of an object is not given back before the last unowned reference to it goes.
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
    ///   - actor: where it runs.
    ///   - names: the states that it is told of when they are entered; nil: all.
    ///   - retaining: whether the machine keeps the actor alive until its registration is cancelled.
    ///   - start: whether it is told of the current state first, as
    ///     ``addDelegate(_:on:of:retaining:starting:delivering:)`` has it.
    ///   - delivery: which transitions it is told of, and when, by the machine's clock; unless said, each.
    ///   - body: what is done; not kept from retaining the actor if it captures it.
    /// - Returns: its place. An actor may have several.
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
    /// Adds an actor, to be called inside its isolation, after those that are there.
    ///
    /// A facet of actors refines `Actor`, and what is called of it may be assumed to be isolated:
    ///
    /// ```swift
    /// protocol EnemyCounting: Actor { func appeared(_ enemy: Enemy) }
    ///
    /// watchers.add(counter)
    /// watchers.broadcast((any EnemyCounting).self) { $0.assumeIsolated { $0.appeared(enemy) } }
    /// ```
    ///
    /// - Parameters:
    ///   - actor: who is called.
    ///   - label: what it is called when it votes no; nil: its type.
    ///   - retaining: whether it is kept alive until its registration is cancelled.
    /// - Returns: its place.
    @discardableResult
    public func add<A: Actor>(
        _ actor: A,
        label: String? = nil,
        retaining: Bool = false
    ) -> Registration {
        self.add(actor, on: ActorContext(actor), label: label, retaining: retaining)
    }
}
