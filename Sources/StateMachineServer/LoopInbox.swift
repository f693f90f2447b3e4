import NIOConcurrencyHelpers
import NIOCore

/// What any thread has for the event loop, in order; the loop is woken once for all that gathers before
/// it comes.
///
/// Guarded state, behind `jobs`: what has gathered. Bounded by the sets that may be undecided.
/// `@unchecked Sendable`: `isEmptying` is touched on `loop` only.
final class LoopInbox: @unchecked Sendable {
    private let loop: any EventLoop
    private let jobs = NIOLockedValueBox<[@Sendable () -> Void]>([])
    private var isEmptying = false

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `job` after all that came before it: on the loop before this returns, unless it is called
    /// by such a job; else soon.
    func add(_ job: @escaping @Sendable () -> Void) {
        let isFirst = self.jobs.withLockedValue { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        if self.loop.inEventLoop {
            self.empty()
        } else if isFirst {
            self.loop.execute { self.empty() }
        }
    }

    private func empty() {
        guard !self.isEmptying else { return }
        self.isEmptying = true
        defer { self.isEmptying = false }
        while true {
            let gathered = self.jobs.withLockedValue { jobs in
                defer { jobs = [] }
                return jobs
            }
            guard !gathered.isEmpty else { return }
            for job in gathered { job() }
        }
    }
}
