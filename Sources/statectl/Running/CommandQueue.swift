import StateMachineClient
import Synchronization

/// Runs a command for lines, one at a time; of the lines that come meanwhile only the newest counts.
///
/// Guarded state: `next`, behind its lock.
final class CommandQueue: Sendable {
    private struct Job {
        let line: Line
        /// Why changes may be missing before this line or before one that it replaced.
        let resync: String?
    }

    private let command: ChildCommand
    private let done: @Sendable (Line) -> Void
    private let complain: @Sendable (String) -> Void
    private let next = Mutex<Job?>(nil)
    private let wishes: AsyncStream<Void>
    private let wish: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - command: what is run.
    ///   - complain: told of a command that did not succeed.
    ///   - done: told of a line once its command has ended, however it did.
    init(
        _ command: ChildCommand,
        complain: @escaping @Sendable (String) -> Void,
        done: @escaping @Sendable (Line) -> Void
    ) {
        self.command = command
        self.complain = complain
        self.done = done
        (self.wishes, self.wish) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Runs the command for this line as soon as it is not running.
    func add(_ line: Line) {
        self.next.withLock { $0 = Job(line: line, resync: line.resync ?? $0?.resync) }
        self.wish.yield()
    }

    /// There will be no more lines.
    func finish() { self.wish.finish() }

    /// There will be no more lines, and one that waits is forgotten.
    func stop() {
        self.next.withLock { $0 = nil }
        self.finish()
    }

    /// Returns once there are no more lines and the last command has ended.
    func run() async {
        for await _ in self.wishes {
            guard let job = self.take() else { continue }
            let ending = await self.command.run(
                environment: LineEnvironment.watch(job.line, resync: job.resync),
                input: job.line.text + "\n"
            )
            if let complaint = ending.complaint(about: self.command) { self.complain(complaint) }
            self.done(job.line)
        }
    }

    private func take() -> Job? {
        self.next.withLock { next in
            defer { next = nil }
            return next
        }
    }
}
