internal import Dispatch

/// A queue as an actor's executor, for an actor that blocks in system calls.
final class QueueSerialExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) { self.queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(self.queue)) }
}
