/// A cursor into a machine's log, and its wake-up: what takes all changes in on one context of its own, as the server does.
///
/// It is at its place until it is closed or released. A machine that lets go of what a context is late for
/// (``StateMachine/Options/laneLimit``) is none for it.
package final class LogCursor<State: MachineState>: Sendable {
    /// Where the machine was when it took its place; the task hears all that follows.
    package let start: Snapshot<State>

    private let lane: Lane<State>
    private let registration: Registration

    /// Takes its place: no transition after ``start`` is missed.
    ///
    /// - Parameters:
    ///   - machine: whose log it reads.
    ///   - context: where the task runs.
    ///   - afterBurst: run on the context when the task has been given all there was.
    ///   - task: given every transition; it may not block the context.
    package init(
        of machine: StateMachine<State>,
        on context: any ExecutionContext,
        afterBurst: @escaping @Sendable () -> Void = {},
        task: @escaping @Sendable (Transition<State>) -> Void
    ) {
        let member = EachMember<State>(task: task, afterBurst: afterBurst)
        (self.lane, self.start) = machine.register(member, on: context)
        self.registration = machine.registration(of: member)
    }

    /// Gives the task, now, everything that has been committed so far.
    ///
    /// Only on its own context, which has to be serial and able to tell that it is
    /// current. What the task itself sets is told after the task has returned.
    package func catchUp() { self.lane.catchUp() }

    /// No call of the task begins after this returns.
    package func close() { self.registration.cancel() }

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
        super.init(hearingBurstEnds: true)
    }

    override func receive(_ transition: Transition<State>) -> Bool {
        self.task(transition)
        return true
    }

    override func burstEnded() { self.afterBurst() }
}
