import StateMachineClient
import StateMachineCore

/// Runs a command for lines, one at a time; of the lines that come meanwhile only the newest counts.
///
/// Guarded state: `waiting`, behind its lock.
final class CommandQueue: Sendable {
    private struct Job {
        let line: Line
        let event: WatchEvent
    }

    private struct Waiting {
        var job: Job?
        /// Why changes may be missing before that line, or before one replaced or skipped.
        var resync: String?
    }

    private let command: ChildCommand
    private let printer: LinePrinter
    private let done: @Sendable (Line) -> Void
    private let complain: @Sendable (String) -> Void
    private let waiting = Lock(Waiting())
    private let wishes: AsyncStream<Void>
    private let wish: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - command: the command to run.
    ///   - printer: gives its standard input, and the machine of the lines.
    ///   - complain: called for a command that did not succeed.
    ///   - done: called with a line once its command has ended, however it did.
    init(
        _ command: ChildCommand,
        printer: LinePrinter,
        complain: @escaping @Sendable (String) -> Void,
        done: @escaping @Sendable (Line) -> Void
    ) {
        self.command = command
        self.printer = printer
        self.complain = complain
        self.done = done
        (self.wishes, self.wish) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Runs the command for this line, once it is not running any more.
    func add(_ line: Line, as event: WatchEvent) {
        self.waiting.withLock { waiting in
            waiting.job = Job(line: line, event: event)
            waiting.resync = line.resync ?? waiting.resync
        }
        self.wish.yield()
    }

    /// Skips a line; the next command is told if changes may be missing before it.
    func pass(_ line: Line) {
        guard let resync = line.resync else { return }
        self.waiting.withLock { $0.resync = resync }
    }

    /// Ends the queue; a line that waits still has its command run.
    func finish() { self.wish.finish() }

    /// Ends the queue and drops a line that waits.
    func stop() {
        self.waiting.withLock { $0.job = nil }
        self.finish()
    }

    /// Returns once there are no more lines and the last command has ended.
    func run() async {
        for await _ in self.wishes {
            guard let (job, resync) = self.take() else { continue }
            var environment = LineEnvironment.watch(
                job.line,
                event: job.event.rawValue,
                resync: resync
            )
            if let mark = self.printer.mark {
                environment["STATEMACHINE_INSTANCE"] = .some(mark.instanceName)
            }
            let ending = await self.command.run(
                environment: environment,
                input: self.printer.input(job.line, as: job.event)
            )
            if let complaint = ending.complaint(about: self.command) { self.complain(complaint) }
            self.done(job.line)
        }
    }

    private func take() -> (job: Job, resync: String?)? {
        self.waiting.withLock { waiting in
            guard let job = waiting.job.take() else { return nil }
            defer { waiting.resync = nil }
            return (job, waiting.resync)
        }
    }
}
