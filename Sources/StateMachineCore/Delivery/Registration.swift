/// The registration of a delegate, voter or receptionist with a machine.
///
/// Dropping it changes nothing; ``cancel()`` ends it.
public final class Registration: Sendable {
    // Not kept: a member that is gone went with its machine, when no call ran.
    weak let member: Member?
    private let stop: @Sendable (_ stopped: @escaping @Sendable () -> Void) -> Void

    /// - Parameters:
    ///   - member: what is registered.
    ///   - stop: ends what its calls have started, and calls its argument once it has ended.
    init(
        of member: Member,
        stopping stop: @escaping @Sendable (_ stopped: @escaping @Sendable () -> Void) -> Void = {
            $0()
        }
    ) {
        self.member = member
        self.stop = stop
    }

    private func end(quiet: @escaping @Sendable () -> Void) {
        if let member { member.end(quiet: quiet) } else { quiet() }
    }

    private func flush(then given: @escaping @Sendable () -> Void) {
        if let member { member.flush(then: given) } else { given() }
    }

    /// Delivers what is kept for it, soon and on its context, however long that would have waited.
    public func flush() { self.flush {} }

    /// Delivers what is kept for it, and returns when that is done: it has been told of all that was
    /// committed, or called, before.
    ///
    /// No thread waits. It takes as long as the context does, and so for ever on one that never
    /// runs its jobs; one that has ended is not waited for. It also ends when the registration or
    /// the task is cancelled. When the machine has gone, it waits for what the context has yet to be
    /// told; what a delivery still keeps is discarded with the machine, as soon as that is told.
    public func flushAndWait() async {
        _ = await Once.answer(orIfCancelled: false) { isGiven in
            self.flush { isGiven.give(true) }
            return nil
        }
    }

    /// Ends it: no call begins after this returns, one may be running; idempotent.
    ///
    /// What is kept for it is discarded.
    public func cancel() {
        self.stop {}
        self.end {}
    }

    /// Ends it: when this returns no call is running either, and none will begin.
    ///
    /// No thread waits. A callback cannot call it, since callbacks are synchronous; a callback that
    /// cancels itself is by its nature still running. So is the body of a
    /// ``StateMachine/during(_:_:body:)`` or an async voter that calls this: it is not waited for.
    public func cancelAndWait() async {
        await withCheckedContinuation { continuation in
            self.stop { self.end { continuation.resume() } }
        }
    }
}
