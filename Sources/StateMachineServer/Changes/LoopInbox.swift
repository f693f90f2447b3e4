import NIOConcurrencyHelpers
import NIOCore
import StateMachineCore

/// Takes jobs for the event loop from any thread, in order.
///
/// The machine delivers transitions here too, so that those of a group and its answers need one
/// wake-up.
///
/// After ``close()`` the loop may have ended, and further jobs are dropped: nobody waits any more
/// for a set that the program's own voter decides then.
///
/// Guarded state: the gathered jobs, behind `jobs`; the sets that may be undecided bound them.
/// `@unchecked Sendable`: `isEmptying`, `spare` and `spin` are touched on `loop` only.
final class LoopInbox: CompletionPlace, ExecutionContext, @unchecked Sendable {
    typealias Job = @Sendable () -> Void

    private let loop: any EventLoop
    private let jobs = NIOLockedValueBox(Gathered())
    private var isEmptying = false
    /// Room for new jobs while the gathered ones run.
    private var spare: [Job] = []

    private var spin = AdaptiveSpin()

    private struct Gathered: Sendable {
        var jobs: [Job] = []
        /// Whether the loop has been woken and has yet to come.
        var isAwake = false
        /// How many callers are still adding jobs before the loop is to be woken.
        var adding = 0
        var isClosed = false

        /// Whether the loop is to be woken now; if so, notes that it has been.
        mutating func wakes() -> Bool {
            guard !self.isAwake, self.adding == 0, !self.jobs.isEmpty else { return false }
            self.isAwake = true
            return true
        }
    }

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// The loop itself.
    var identity: ObjectIdentifier { ObjectIdentifier(self.loop) }

    /// Whether the calling code runs on the loop's thread.
    var isCurrent: Bool? { self.loop.inEventLoop }

    /// Runs `job` in a later turn of the loop, or while the loop lingers.
    func enqueue(_ job: @escaping Job) {
        let isClosed = self.jobs.withLockedValue { $0.isClosed }
        guard isClosed || !self.loop.inEventLoop else { return self.loop.execute(job) }
        self.run(job)
    }

    /// Stops running jobs; called on the loop.
    func close() {
        let dropped = self.jobs.withLockedValue { box in
            box.isClosed = true
            return exchange(&box.jobs, with: [])
        }
        // What the jobs hold is released outside the lock.
        withExtendedLifetime(dropped) {}
    }

    /// Runs `job` after all earlier ones.
    ///
    /// On the loop it has run when this returns, unless the caller is such a job itself.
    func run(_ job: @escaping Job) {
        let isHere = self.loop.inEventLoop
        let wakes = self.jobs.withLockedValue { box in
            guard !box.isClosed else { return false }
            box.jobs.append(job)
            return !isHere && box.wakes()
        }
        if isHere { self.empty() }
        if wakes { self.wake() }
    }

    /// Calls `body`, then wakes the loop once for all jobs that came meanwhile.
    func together(_ body: () -> Void) {
        self.jobs.withLockedValue { $0.adding += 1 }
        body()
        let wakes = self.jobs.withLockedValue { box in
            box.adding -= 1
            return box.wakes()
        }
        if wakes { self.wake() }
    }

    private func wake() { self.loop.execute { self.empty() } }

    /// Spins for a moment and runs the jobs that come; called on the loop.
    ///
    /// - Parameter isWaiting: whether something expected has yet to come.
    func linger(while isWaiting: () -> Bool) {
        let hasWaited = self.spin.wait {
            // Whoever adds a job meanwhile need not wake the loop.
            let hasCome = self.jobs.withLockedValue { box in
                box.isAwake = true
                return !box.jobs.isEmpty
            }
            if hasCome { self.empty() }
            return !isWaiting()
        }
        if hasWaited { self.empty() }
    }

    private func empty() {
        guard !self.isEmptying else { return }
        self.isEmptying = true
        defer { self.isEmptying = false }
        while true {
            self.jobs.withLockedValue { box in
                swap(&box.jobs, &self.spare)
                box.isAwake = false
            }
            guard !self.spare.isEmpty else { return }
            for job in self.spare { job() }
            self.spare.removeAll(keepingCapacity: true)
        }
    }
}
