import NIOConcurrencyHelpers
import NIOCore

/// What any thread has for the event loop, in order, handed over in bursts: what was decided together
/// is answered together.
///
/// Guarded state, behind `jobs`: what has gathered. Bounded by the sets that may be undecided.
/// `@unchecked Sendable`: `isEmptying` is touched on `loop` only.
final class LoopInbox: @unchecked Sendable {
    private let loop: any EventLoop
    private let jobs = NIOLockedValueBox(Gathered())
    private var isEmptying = false

    private struct Gathered: Sendable {
        var jobs: [@Sendable () -> Void] = []
        /// Whether the loop is on its way.
        var isAwake = false
    }

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `job` after all that came before it: on the loop before this returns, unless it is called
    /// by such a job; elsewhere after the next ``wake()``.
    func add(_ job: @escaping @Sendable () -> Void) {
        self.jobs.withLockedValue { $0.jobs.append(job) }
        if self.loop.inEventLoop { self.empty() }
    }

    /// Has the loop run what has been added.
    func wake() {
        let isAsleep = self.jobs.withLockedValue { box in
            guard !box.jobs.isEmpty, !box.isAwake else { return false }
            box.isAwake = true
            return true
        }
        if isAsleep { self.loop.execute { self.empty() } }
    }

    private func empty() {
        guard !self.isEmptying else { return }
        self.isEmptying = true
        defer { self.isEmptying = false }
        while true {
            let gathered = self.jobs.withLockedValue { box in
                defer { box = Gathered() }
                return box.jobs
            }
            guard !gathered.isEmpty else { return }
            for job in gathered { job() }
        }
    }
}
