/// A cursor into a machine's log that takes in all changes on a context of its own, as the server
/// does.
///
/// It keeps its place until it is closed or released. Do not use it on a machine that drops what a
/// context is late for (``StateMachine/Options/laneLimit``).
package final class LogCursor: Sendable {
    /// Where the machine was when the cursor was placed; the task hears all that follows.
    package let start: Place

    private let lane: Lane
    private let registration: Registration

    /// Places the cursor: no change after ``start`` is missed.
    ///
    /// - Parameters:
    ///   - machine: the machine whose log it reads.
    ///   - context: where the task runs.
    ///   - afterBurst: run on the context when the task has been given everything there was.
    ///   - task: called with every change; it must not block the context.
    package init(
        of machine: Machine,
        on context: any ExecutionContext,
        afterBurst: @escaping @Sendable () -> Void = {},
        task: @escaping @Sendable (Change) -> Void
    ) {
        let member = CallingMember(
            .init(
                change: { _, entry in
                    task(entry.change)
                    return true
                },
                burstEnd: afterBurst
            )
        )
        (self.lane, self.start) = machine.register(member, on: context)
        self.registration = machine.registration(of: member)
    }

    /// Hands the task everything committed so far, now.
    ///
    /// Only on its own context, which has to be serial and able to tell that it is current. What
    /// the task itself sets is delivered after the task has returned.
    package func catchUp() { self.lane.catchUp() }

    /// No call of the task begins after this returns.
    package func close() { self.registration.cancel() }

    deinit { self.close() }
}
