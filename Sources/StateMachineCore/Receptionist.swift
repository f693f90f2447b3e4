/// Receives a machine's transitions wherever they are made and redirects them to one task on one
/// execution context: Apple's Cocoa pattern, not a service registry.
///
/// It knows four things, all fixed when it is made: whom it observes, what to do, where, and how much
/// of it. It stops when it is closed or released.
public final class Receptionist<State: MachineState>: Sendable {
    /// The state in which the receptionist took up its post; the task hears all that follows.
    public let start: Snapshot<State>

    private let registration: Registration
    private let lane: Lane<State>

    /// Takes up its post: no transition after ``start`` is missed.
    ///
    /// - Parameters:
    ///   - machine: whom it observes.
    ///   - context: where the task runs.
    ///   - afterBurst: run on the context when the task has been given all there was.
    ///   - task: given every transition; it may not block the context.
    public init(
        of machine: StateMachine<State>,
        on context: any ExecutionContext,
        afterBurst: @escaping @Sendable () -> Void = {},
        task: @escaping @Sendable (Transition<State>) -> Void
    ) {
        let member = EachMember<State>(task: task, afterBurst: afterBurst)
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
private final class EachMember<State: MachineState>: Member<State>, @unchecked Sendable {
    private let task: @Sendable (Transition<State>) -> Void
    private let afterBurst: @Sendable () -> Void

    init(
        task: @escaping @Sendable (Transition<State>) -> Void,
        afterBurst: @escaping @Sendable () -> Void
    ) {
        self.task = task
        self.afterBurst = afterBurst
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.task(transition)
        return true
    }

    override func burstEnded() { self.afterBurst() }
}
