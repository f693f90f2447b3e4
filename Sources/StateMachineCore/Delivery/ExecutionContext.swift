import CPlatform
public import Dispatch

/// Where a delegate or a receptionist's task runs.
///
/// A context need not be serial: one drain at a time runs on it, so even a concurrent queue
/// delivers in order.
public protocol ExecutionContext: AnyObject, Sendable {
    /// Runs `job` later on this context, in order of enqueueing if the context has one.
    ///
    /// Never inline, ``ImmediateContext`` excepted, and never blocks the caller.
    func enqueue(_ job: @escaping @Sendable () -> Void)

    /// What makes two contexts the same place; registrations with equal identities share a drain.
    var identity: ObjectIdentifier { get }

    /// Whether the calling code runs on this context; nil if it cannot tell.
    var isCurrent: Bool? { get }
}

extension ExecutionContext {
    /// The object itself.
    public var identity: ObjectIdentifier { ObjectIdentifier(self) }

    /// Nil: it cannot tell.
    public var isCurrent: Bool? { nil }
}

/// The thread that set the state, after the machine's lock has been released.
public final class ImmediateContext: ExecutionContext {
    /// The one that all machines share.
    fileprivate static let shared = ImmediateContext()

    init() {}

    /// Runs `job` before it returns.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { job() }
}

extension ExecutionContext where Self == ImmediateContext {
    /// The thread that set the state, before the assignment returns.
    public static var immediate: ImmediateContext { .shared }
}

/// A dispatch queue, serial or concurrent.
extension DispatchQueue: ExecutionContext {
    /// What identifies a queue: the Swift object that stands for it may differ each time, as that
    /// of `.main` does.
    private final class Mark: Sendable {}

    private static let key = DispatchSpecificKey<Mark>()
    private static let marking = Lock(())

    /// Hands `job` to the queue.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { self.async(execute: job) }

    /// The identity of the queue's mark, set when it first becomes a context; of the object if the
    /// queue takes no mark.
    public var identity: ObjectIdentifier {
        Self.marking.withLock { _ in
            if let mark = self.getSpecific(key: Self.key) { return ObjectIdentifier(mark) }
            self.setSpecific(key: Self.key, value: Mark())
            return self.getSpecific(key: Self.key).map { ObjectIdentifier($0) }
                ?? ObjectIdentifier(self)
        }
    }

    /// Whether the calling code runs on this queue, or on one that targets it and is no context
    /// itself; nil if this queue has never been a context.
    public var isCurrent: Bool? {
        guard let mark = self.getSpecific(key: Self.key) else { return nil }
        return DispatchQueue.getSpecific(key: Self.key) === mark
    }
}

extension ExecutionContext where Self == DispatchQueue {
    /// A dispatch queue, which is marked as a context.
    public static func queue(_ queue: DispatchQueue) -> DispatchQueue {
        _ = queue.identity
        return queue
    }
}

/// Where a thread weakly remembers its context; freed with the thread.
///
/// Kept with the thread and not in a table, since the kernel reuses a thread's identity for another
/// one later.
final class ThreadLocalContext {
    private weak var context: NotificationThread?

    private init() {}

    /// The key under which every thread finds its own; nil if the process has no key left, and
    /// then no thread remembers anything.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key) { local in
            // Not declared as optional on every platform.
            guard let local = local as UnsafeMutableRawPointer? else { return }
            Unmanaged<ThreadLocalContext>.fromOpaque(local).release()
        }
        return error == 0 ? key : nil
    }()

    private static var own: ThreadLocalContext? {
        guard let key, let local = pthread_getspecific(key) else { return nil }
        return Unmanaged<ThreadLocalContext>.fromOpaque(local).takeUnretainedValue()
    }

    /// The calling thread's context, if it has one.
    static var taken: NotificationThread? { self.own?.context }

    /// Makes `context` the calling thread's.
    static func take(_ context: NotificationThread) {
        if let own {
            own.context = context
            return
        }
        guard let key else { return }
        let local = ThreadLocalContext()
        local.context = context
        let kept = Unmanaged.passRetained(local)
        if pthread_setspecific(key, kept.toOpaque()) != 0 { kept.release() }
    }
}

/// The main actor: what runs there may touch its state.
public final class MainActorContext: ExecutionContext {
    /// The one instance that all machines share.
    fileprivate static let shared = MainActorContext()

    private init() {}

    /// Runs `job` in a task of the main actor.
    public func enqueue(_ job: @escaping @Sendable () -> Void) {
        // Not kept: it ends with the burst, and a drain has at most one.
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
        // As any context, so that this one is not called again.
        self.addObserver(
            on: context as any ExecutionContext,
            of: names,
            starting: start,
            delivering: delivery
        ) { transition in
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

/// An actor as an execution context: one task for each burst, inside the actor's isolation.
///
/// Tasks created one after the other may run in another order; within one task the drain reads its
/// log, so the actor still hears everything in order.
///
/// The actor is held weakly: when it is gone, so are its members, and the drain finds none.
/// Its memory is kept, because its address is the drain's identity: another actor there would join
/// the drain of the one that is gone.
final class ActorContext<A: Actor>: ExecutionContext {
    private weak let actor: A?
    /// Never read; keeps the address from being reused.
    ///
    /// An object's memory is not freed before the last unowned reference to it goes.
    private unowned(safe) let memory: A
    let identity: ObjectIdentifier

    init(_ actor: A) {
        self.actor = actor
        self.memory = actor
        self.identity = ObjectIdentifier(actor)
    }

    func enqueue(_ job: @escaping @Sendable () -> Void) {
        guard let actor = self.actor else {
            job()
            return
        }
        // Not kept: it ends with the burst, and a drain has at most one.
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

extension Registration {
    /// What a new registration hears first.
    public enum Start: Sendable {
        /// The next transition.
        case next
        /// The current state, and then the next transition; nothing lies between them.
        case current
    }
}

typealias Start = Registration.Start

extension StateMachine {
    /// What a new registration hears first.
    public typealias Start = Registration.Start
}
