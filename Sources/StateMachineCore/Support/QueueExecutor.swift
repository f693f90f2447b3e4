import Dispatch

/// Runs tasks on a serial queue of its own.
///
/// Dispatch watches the threads of its global queues, where tasks run by default, with a timer that
/// fires every second from the first such task to the end of the process, and ends the process if
/// there is no descriptor left for that check. A task that prefers this executor, with what it
/// awaits and forks, lets an idle process sleep. A task that is made with `Task {}` does not inherit
/// the preference and has to name it.
package final class QueueExecutor: TaskExecutor {
    /// What a program's own tasks prefer.
    package static let shared = QueueExecutor(label: "statemachine.tasks")

    private let queue: DispatchQueue

    package init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
