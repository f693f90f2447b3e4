import NIOConcurrencyHelpers
import NIOCore
import StateMachineCore

/// What any thread has for the event loop, in order.
///
/// Guarded state, behind `jobs`: what has gathered. Bounded by the sets that may be undecided.
/// `@unchecked Sendable`: `isEmptying` and `spare` are touched on `loop` only.
final class LoopInbox: CompletionPlace, @unchecked Sendable {
    typealias Job = @Sendable () -> Void

    private let loop: any EventLoop
    private let jobs = NIOLockedValueBox(Gathered())
    private var isEmptying = false
    /// Room for what gathers while what has gathered is run.
    private var spare: [Job] = []

    private struct Gathered: Sendable {
        var jobs: [Job] = []
        /// Whether the loop is on its way.
        var isAwake = false
    }

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `job` after all that came before it: on the loop before this returns, unless it is called
    /// by such a job.
    func run(_ job: @escaping Job) {
        let isHere = self.loop.inEventLoop
        let isAsleep = self.jobs.withLockedValue { box in
            box.jobs.append(job)
            guard !isHere, !box.isAwake else { return false }
            box.isAwake = true
            return true
        }
        if isHere {
            self.empty()
        } else if isAsleep {
            self.loop.execute { self.empty() }
        }
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
