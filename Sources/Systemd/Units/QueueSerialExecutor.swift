internal import Dispatch

/// A queue of its own as an actor's executor, for one that waits in calls of the system.
final class QueueSerialExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) { self.queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(self.queue)) }
}
