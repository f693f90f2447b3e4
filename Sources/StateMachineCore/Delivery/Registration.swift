/// The registration of a delegate, voter or receptionist with a machine.
///
/// Dropping it changes nothing; ``cancel()`` ends it.
public final class Registration: Sendable {
    private let end: @Sendable () -> Void
    private let endQuietly: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let giveKept: @Sendable (@escaping @Sendable () -> Void) -> Void

    init(
        end: @escaping @Sendable () -> Void,
        endQuietly: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        giveKept: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.end = end
        self.endQuietly = endQuietly
        self.giveKept = giveKept
    }

    /// A registration together with what its calls have started; `stop` ends that, and calls its
    /// argument once it has ended.
    convenience init(
        _ registration: Registration,
        stopping stop: @escaping @Sendable (_ stopped: @escaping @Sendable () -> Void) -> Void
    ) {
        self.init(
            end: {
                stop {}
                registration.end()
            },
            endQuietly: { quiet in
                stop { registration.endQuietly(quiet) }
            },
            giveKept: registration.giveKept
        )
    }

    /// Delivers what is kept for it, soon and on its context, however long that would have waited.
    public func flush() { self.giveKept {} }

    /// Delivers what is kept for it, and returns when that is done: it has been told of all that was
    /// committed, or called, before.
    ///
    /// No thread waits. It takes as long as the context does, and so for ever on one that never
    /// runs its jobs; one that has ended is not waited for. It also ends when the registration or
    /// the task is cancelled.
    public func flushAndWait() async {
        let withdrawal = Withdrawal()
        _ = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let isGiven = Once<Bool>(continuation)
                withdrawal.has { isGiven.give(false) }
                self.giveKept { isGiven.give(true) }
            }
        } onCancel: {
            withdrawal.withdraw()
        }
    }

    /// Ends it: no call begins after this returns, one may be running; idempotent.
    ///
    /// What is kept for it is discarded.
    public func cancel() { self.end() }

    /// Ends it: when this returns no call is running either, and none will begin.
    ///
    /// No thread waits. A callback cannot call it, since callbacks are synchronous; a callback that
    /// cancels itself is by its nature still running.
    public func cancelAndWait() async {
        await withCheckedContinuation { continuation in
            self.endQuietly { continuation.resume() }
        }
    }
}
