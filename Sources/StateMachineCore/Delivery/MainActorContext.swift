/// The main actor: what runs there may touch its state.
public final class MainActorContext: ExecutionContext {
    /// The one instance that all machines share.
    fileprivate static let shared = MainActorContext()

    private init() {}

    /// Runs `job` in a task of the main actor.
    public func enqueue(_ job: @escaping @Sendable () -> Void) {
        // Not kept: it ends with the burst, and a lane has at most one.
        Task { @MainActor in job() }
    }
}

extension ExecutionContext where Self == MainActorContext {
    /// The main actor.
    public static var main: MainActorContext { .shared }
}

extension StateMachine {
    /// Calls `body` with every transition from now on, on the main actor, in order.
    ///
    /// As ``addObserver(on:of:starting:delivering:_:)``.
    @discardableResult
    public func addObserver(
        on context: MainActorContext,
        of names: Set<State.Name>? = nil,
        starting start: Start = .next,
        delivering delivery: Delivery<Transition<State>> = .each,
        _ body: @escaping @MainActor @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let place: any ExecutionContext = context
        return self.addObserver(on: place, of: names, starting: start, delivering: delivery) {
            transition in
            MainActor.assumeIsolated { body(transition) }
        }
    }

    /// Calls `body` with every transition from now on, on the main actor, in order, while `object`
    /// lives.
    ///
    /// - Parameters:
    ///   - object: the object that `body` acts for, such as a view's model.
    ///   - context: `.main`.
    ///   - names: the states whose entry it hears of; nil: all.
    ///   - retaining: whether the machine keeps the object alive until its registration is
    ///     cancelled.
    ///   - start: whether it hears of the current state first, as described at
    ///     ``addDelegate(_:on:of:retaining:starting:delivering:)``.
    ///   - delivery: which transitions it hears of, and when, by the machine's clock; by default
    ///     each.
    ///   - body: what to do; it keeps the object alive if it captures it.
    /// - Returns: its registration. An object may have several.
    @discardableResult
    public func addDelegate<Object: AnyObject & Sendable>(
        _ object: Object,
        on context: MainActorContext,
        of names: Set<State.Name>? = nil,
        retaining: Bool = false,
        starting start: Start = .next,
        delivering delivery: Delivery<Transition<State>> = .each,
        _ body: @escaping @MainActor @Sendable (Object, Transition<State>) -> Void
    ) -> Registration {
        self.addObject(
            object,
            on: context,
            of: names,
            retaining: retaining,
            starting: start,
            delivering: delivery
        ) { object, transition in
            MainActor.assumeIsolated { body(object, transition) }
        }
    }
}
