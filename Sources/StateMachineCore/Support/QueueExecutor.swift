import Dispatch

/// Runs tasks on a serial queue of its own.
///
/// Dispatch watches the threads of its global queues, on which tasks run by default, with a timer that
/// goes off every second from the first such task to the end of the process, and ends the process if
/// there is no descriptor left to look with. A task that prefers this executor, and what it awaits and
/// forks, leaves a process at rest asleep.
package final class QueueExecutor: TaskExecutor {
    private let queue: DispatchQueue

    package init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
