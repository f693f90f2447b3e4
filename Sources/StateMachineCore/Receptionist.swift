/// Receives a machine's transitions wherever they are made and redirects them to one task on one
/// execution context: Apple's Cocoa pattern, not a service registry.
///
/// It knows four things, all fixed when it is made: whom it observes, what to do, where, and how much
/// of it. It stops when it is closed or released.
public final class Receptionist<State: MachineState>: Sendable {
    /// Which transitions the task is given.
    public enum Delivery: Sendable {
        /// Every one.
        case each
        /// Of those that have gathered when the context gets to it, the last.
        case latest
    }

    /// The state in which the receptionist took up its post; the task hears all that follows.
    public let start: Snapshot<State>

    private let registration: Registration
    private let lane: Lane<State>

    /// Takes up its post: no transition after ``start`` is missed.
    ///
    /// - Parameters:
    ///   - machine: whom it observes.
    ///   - context: where the task runs.
    ///   - delivering: which transitions the task is given.
    ///   - afterBurst: run on the context when the task has been given all there was.
    ///   - task: what is done with each; it may not block the context.
    public init(
        of machine: StateMachine<State>,
        on context: any ExecutionContext,
        delivering: Delivery = .each,
        afterBurst: @escaping @Sendable () -> Void = {},
        task: @escaping @Sendable (Transition<State>) -> Void
    ) {
        let member =
            switch delivering {
            case .each: EachMember(task: task, afterBurst: afterBurst)
            case .latest: LatestMember(task: task, afterBurst: afterBurst)
            }
        (self.lane, self.start) = machine.register(member, on: context)
        self.registration = machine.registration(of: member)
    }

    /// Ends it: no call of the task begins after this returns.
    public func close() { self.registration.cancel() }

    /// Gives the task, now, everything that has been committed so far.
    ///
    /// Only on the receptionist's own context, which has to be serial and able to tell that it is
    /// current. What the task itself sets is told after the task has returned.
    package func catchUp() { self.lane.catchUp() }

    deinit { self.close() }
}

/// Hands over every transition as it comes.
private class EachMember<State: MachineState>: Member<State>, @unchecked Sendable {
    fileprivate let task: @Sendable (Transition<State>) -> Void
    private let afterBurst: @Sendable () -> Void

    init(
        task: @escaping @Sendable (Transition<State>) -> Void,
        afterBurst: @escaping @Sendable () -> Void
    ) {
        self.task = task
        self.afterBurst = afterBurst
    }

    override func receive(_ transition: Transition<State>) { self.task(transition) }

    override func burstEnded() { self.afterBurst() }
}

/// Keeps the newest transition until the burst has ended. `newest` is the drain's own.
private final class LatestMember<State: MachineState>: EachMember<State>, @unchecked Sendable {
    private var newest: Transition<State>?

    override func receive(_ transition: Transition<State>) { self.newest = transition }

    override func burstEnded() {
        if let transition = self.newest.take() { self.task(transition) }
        super.burstEnded()
    }
}
