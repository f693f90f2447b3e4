import CPlatform
import Dispatch
import Synchronization

/// One particular thread as an execution context: what is sent to it runs there, first in, first out.
///
/// The thread is either the context's own, made by ``init(name:refused:)``, or an existing one,
/// taken by ``adoptingCurrentThread(refused:)``. A thread that already waits in `poll`, `epoll` or
/// a run loop adds ``descriptor`` there and calls ``drain()`` when it is readable; one that has
/// nothing else to do calls ``run()``. An actor can be pinned to the thread, which then is its
/// executor; the actor has to keep it alive.
///
/// No wake-up is lost, before, between or after runs: the descriptor stays readable until the
/// thread has looked. One wake-up stands for any number of jobs.
///
/// Guarded state: `mail`, behind its lock; `thread` is the thread's identity, set once before
/// anything can be sent. `wakeups` belongs to the context until it is released.
public final class NotificationThread: ExecutionContext, SerialExecutor {
    fileprivate enum Job: Sendable {
        case call(@Sendable () -> Void)
        case task(UnownedJob)
    }

    private struct Mail: Sendable {
        var jobs = BoundedBuffer<Job>(capacity: .max)
        var isStopped = false
        /// Whether the thread looks without being woken.
        var isAwake = false
        var thread: ThreadIdentity?
    }

    private let mail = Lock(Mail())
    private let wakeups: CInt
    private let refused: @Sendable (Int) -> Void
    private let refusedCount = Atomic<Int>(0)
    /// Signalled when a thread of our own has ended; nil if the thread was adopted.
    private let ended: DispatchSemaphore?
    /// Where tasks' jobs go once the thread is gone: if they were dropped, their tasks would never
    /// resume.
    private let afterlife = DispatchQueue(label: "jobs of a stopped thread")

    /// Starts a thread of its own, which runs what it is sent until ``stop()``.
    ///
    /// - Parameters:
    ///   - name: the thread's name for the kernel; its first fifteen bytes.
    ///   - refused: called on the sender's thread for each job that is sent after the stop, with
    ///     the number of such jobs so far. None of them runs.
    public convenience init(
        name: String,
        refused: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.init(refused: refused, ended: DispatchSemaphore(value: 0))
        let start = ThreadStart {
            String(name.utf8.prefix(15)).map { platform_name_thread($0) }
            self.mail.withLock { $0.thread = .current }
            ThreadLocalContext.take(self)
            self.run()
            self.ended?.signal()
        }
        let error = platform_start_thread(
            { argument in
                guard let argument else { return nil }
                Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue().begin()
                return nil
            },
            Unmanaged.passRetained(start).toOpaque()
        )
        precondition(
            error == 0,
            "cannot start the thread \(name): \(String(cString: strerror(error)))"
        )
    }

    /// Adopts the calling thread: makes a context for it, or returns the one that it has.
    ///
    /// Adopting it again gives the same context, for as long as that one lives and has not been
    /// stopped. The context does not outlive its last owner: the thread itself does not keep it.
    ///
    /// - Parameter refused: as with a thread of its own; the first adoption's counts.
    /// - Returns: the context; somebody has to call ``run()`` or ``drain()`` on this thread.
    public static func adoptingCurrentThread(
        refused: @escaping @Sendable (Int) -> Void = { _ in }
    ) -> NotificationThread {
        if let present = ThreadLocalContext.taken, !present.mail.withLock({ $0.isStopped }) {
            return present
        }
        let context = NotificationThread(refused: refused, ended: nil)
        context.mail.withLock { $0.thread = .current }
        ThreadLocalContext.take(context)
        return context
    }

    private init(refused: @escaping @Sendable (Int) -> Void, ended: DispatchSemaphore?) {
        self.wakeups = platform_bell()
        precondition(self.wakeups >= 0, "cannot make an eventfd: errno \(platform_errno())")
        self.refused = refused
        self.ended = ended
    }

    deinit { close(self.wakeups) }

    /// Readable when there is something to do; owned by the context; only poll it.
    public var descriptor: CInt { self.wakeups }

    /// Whether the calling code runs on this thread.
    public var isCurrent: Bool? { self.mail.withLock { $0.thread }?.isCurrent ?? false }

    /// Appends `job`, and wakes the thread; refused and reported if the thread has been stopped.
    public func enqueue(_ job: @escaping @Sendable () -> Void) { _ = self.accepts(job) }

    /// As ``enqueue(_:)``; false if the thread has been stopped, and then `job` never runs.
    func accepts(_ job: @escaping @Sendable () -> Void) -> Bool {
        guard !self.send(.call(job)) else { return true }
        self.refused(self.refusedCount.add(1, ordering: .relaxed).newValue)
        return false
    }

    /// Appends a task's job.
    ///
    /// After the stop such jobs run one at a time on a queue.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard !self.send(.task(job)) else { return }
        self.afterlife.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    private func send(_ job: Job) -> Bool {
        let (isAccepted, wakes) = self.mail.withLock { mail in
            guard !mail.isStopped else { return (false, false) }
            _ = mail.jobs.append(job)
            return (true, mail.jobs.count == 1 && !mail.isAwake)
        }
        if wakes { self.wake() }
        return isAccepted
    }

    private func wake() { platform_ring(self.wakeups) }

    /// Runs what has been sent, until there is nothing more; only on the context's thread.
    ///
    /// Returns at once if there is nothing, so a spurious call is harmless. A job may call it, for a
    /// loop within the loop.
    public func drain() {
        precondition(self.isCurrent == true, "drain() must be called on its notification thread")
        while true {
            // One by one: a job that drains the thread itself runs those that came before.
            let job = self.mail.withLock { mail in
                let job = mail.jobs.popFirst()
                mail.isAwake = job != nil && self.ended != nil
                guard job == nil else { return job }
                // Gives back the room of a burst.
                _ = mail.jobs.takeAll()
                // Not before, since a job may poll; and under the lock, so that what comes now rings again.
                platform_quiet(self.wakeups)
                return nil
            }
            switch job {
            case .call(let body): body()
            case .task(let job): job.runSynchronously(on: self.asUnownedSerialExecutor())
            case nil: return
            }
        }
    }

    /// Spins for a moment until something more comes; only in code that the thread runs.
    package func linger(_ spin: inout AdaptiveSpin) {
        spin.wait { self.mail.withLock { !$0.jobs.isEmpty } }
    }

    /// Waits and drains until ``stop()``; only on the context's thread.
    ///
    /// What was sent before the stop still runs.
    public func run() {
        while true {
            self.drain()
            // Checked after the drain, under one lock: what came before the stop has run.
            if self.mail.withLock({ $0.isStopped && $0.jobs.isEmpty }) { return }
            var wait = pollfd(fd: self.wakeups, events: Int16(POLLIN), revents: 0)
            poll(&wait, 1, -1)
        }
    }

    /// Accepts nothing more; what is queued still runs.
    ///
    /// For a thread of its own it waits until that has happened and the thread has ended, unless
    /// called on that thread. Idempotent.
    public func stop() {
        self.mail.withLock { $0.isStopped = true }
        self.wake()
        guard let ended = self.ended, self.isCurrent == false else { return }
        ended.wait()
        // For whoever else stops it.
        ended.signal()
    }

    /// Traps unless the calling code runs on this thread.
    public func checkIsolated() {
        precondition(self.isCurrent == true, "this code must run on its notification thread")
    }

    /// Whether the calling code runs on this thread.
    public func isIsolatingCurrentContext() -> Bool? { self.isCurrent }
}

/// What a new thread is given.
private final class ThreadStart: Sendable {
    let begin: @Sendable () -> Void

    init(_ begin: @escaping @Sendable () -> Void) { self.begin = begin }
}
