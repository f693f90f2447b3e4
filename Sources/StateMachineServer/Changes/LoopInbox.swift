import NIOConcurrencyHelpers
import NIOCore
import StateMachineCore

/// What any thread has for the event loop, in order; also where the machine hands over transitions, so that
/// those of a group and its answers need one wake-up.
///
/// After ``close()`` the loop may have ended, and what still comes is dropped: a set that the program's own
/// voter decides then is nobody's any more.
///
/// Guarded state, behind `jobs`: what has gathered. Bounded by the sets that may be undecided.
/// `@unchecked Sendable`: `isEmptying`, `spare` and `spin` are touched on `loop` only.
final class LoopInbox: CompletionPlace, ExecutionContext, @unchecked Sendable {
    typealias Job = @Sendable () -> Void

    private let loop: any EventLoop
    private let jobs = NIOLockedValueBox(Gathered())
    private var isEmptying = false
    /// Room for what gathers while what has gathered is run.
    private var spare: [Job] = []

    private var spin = AdaptiveSpin()

    private struct Gathered: Sendable {
        var jobs: [Job] = []
        /// Whether the loop is on its way.
        var isAwake = false
        /// How many are adding more before the loop is to be woken.
        var adding = 0
        var isClosed = false

        /// Whether the loop is to be woken now; then it is on its way.
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

    /// Runs `job` in a later turn of the loop, or while that lingers.
    func enqueue(_ job: @escaping Job) {
        let isClosed = self.jobs.withLockedValue { $0.isClosed }
        guard isClosed || !self.loop.inEventLoop else { return self.loop.execute(job) }
        self.run(job)
    }

    /// Runs nothing any more; on the loop.
    func close() {
        let dropped = self.jobs.withLockedValue { box in
            box.isClosed = true
            return exchange(&box.jobs, with: [])
        }
        // What the jobs hold is let go under no lock.
        withExtendedLifetime(dropped) {}
    }

    /// Runs `job` after all that came before it: on the loop before this returns, unless it is called
    /// by such a job.
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

    /// Calls `body`, and wakes the loop once for all that has come meanwhile.
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

    /// Waits for a moment, without sleeping, and runs what comes; on the loop.
    ///
    /// - Parameter isWaiting: whether what is expected has yet to come.
    func linger(while isWaiting: () -> Bool) {
        let hasWaited = self.spin.wait {
            // Who adds a job meanwhile need not wake the loop.
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
