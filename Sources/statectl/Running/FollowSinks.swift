import StateMachineClient
import StateMachineCore

/// A machine that is followed, whose lines are shown or given to a command, the newest of those that come meanwhile.
struct WatchRun: Sendable {
    let follow: Follow
    let target: MachineTarget
    /// Keeps the cursor of the last line that was shown, or whose command has ended.
    var keeper: CursorKeeper?
    /// Runs a command for the lines; nil to show them.
    var queue: CommandQueue?
    /// Whether a command is also run when the daemon goes or comes back.
    var tellsOfDaemon = false
    /// Reports states that last too long; a command is run for these then, and for no other state.
    var stuck: StuckWatch?

    /// Follows the machine to the end, or until the task is cancelled; a command that runs then may finish.
    func run() async throws {
        // A task of its own, which is always awaited: what ends the watch does not end a command.
        let commands = self.queue.map { queue in Task { await queue.run() } }
        let end: Result<Void, any Error>
        do {
            try await Race.run(self.entries)
            end = .success(())
            self.queue?.finish()
        } catch {
            end = .failure(error)
            self.queue?.stop()
        }
        await commands?.value
        do {
            try self.keeper?.write()
        } catch {
            // What ended the watch comes first; it may have been this very thing.
            try end.get()
            throw error
        }
        try end.get()
    }

    private var entries: [Race.Entry<Void>] {
        var entries: [Race.Entry<Void>] = [self.hear]
        if let keeper { entries.append { try await keeper.run() } }
        if let stuck { entries.append { try await stuck.run(self.take) } }
        return entries
    }

    @Sendable private func hear() async throws {
        var lines = LineSink(target: self.target, keeper: self.keeper)
        var newest = self.queue.map { queue in
            NewestSink(
                queue: queue,
                tellsOfDaemon: self.tellsOfDaemon,
                isAboutStuck: self.stuck != nil
            )
        }
        try await self.follow.run { news in
            let step = try newest?.take(news) ?? lines.take(news)
            if case .line(let line) = news { self.stuck?.lineReceived(line) }
            return step
        }
    }

    /// Reports a state that has lasted too long.
    private func take(stuck line: Line) throws {
        guard let line = Line.stuck(line) else { return }
        if let queue = self.queue {
            queue.add(line, as: .stuck)
        } else {
            try self.target.show(line)
        }
    }
}

/// Shows the lines of a machine that is followed, and when its daemon goes and comes.
struct LineSink {
    let target: MachineTarget
    /// Keeps the cursor of the last line that was shown.
    var keeper: CursorKeeper?
    /// Whether the daemon is back and its state has not been shown since.
    private(set) var isBack = false

    mutating func take(_ news: Follow.News) throws -> Follow.Step {
        switch news {
        case .line(let line):
            let isState = line.kind == .state || line.kind == .live
            try self.target.show(line, isBack: isState && self.isBack)
            if isState { self.isBack = false }
            self.keeper?.note(line.cursor)
            return line.step
        case .connected(isAgain: true):
            self.isBack = true
            try self.target.back()
        case .gone(let error): try self.target.gone(error)
        case .awaited: news.complain()
        case .connected, .reached: break
        }
        return .next
    }
}

/// Has a command run for the lines of a machine that is followed, or for the newest of those that come while it runs.
struct NewestSink {
    let queue: CommandQueue
    /// Whether it is also run when the daemon goes or comes back.
    let tellsOfDaemon: Bool
    /// Whether it is run for states that last too long, and for no other.
    let isAboutStuck: Bool
    /// Whether the daemon is back and no command has been run for that.
    private(set) var isBack = false

    mutating func take(_ news: Follow.News) throws -> Follow.Step {
        switch news {
        case .line(let line):
            switch self.event(line) {
            case let event? where event == .back || !self.isAboutStuck:
                self.queue.add(line, as: event)
            case _?, nil: self.queue.pass(line)
            }
            return line.step
        case .connected(let isAgain):
            guard isAgain else { break }
            self.isBack = true
            news.complain()
        case .gone(let error), .awaited(let error):
            news.complain()
            // What a command shows from an earlier run may be outdated.
            guard self.tellsOfDaemon, let line = Line.gone(error) else { break }
            self.queue.add(line, as: .gone)
        case .reached: break
        }
        return .next
    }

    /// The event that the command is run for with a line; nil if it is not run.
    private mutating func event(_ line: Line) -> WatchEvent? {
        switch line.kind {
        case .state, .live:
            guard self.isBack, self.tellsOfDaemon else {
                return line.kind == .state && line.isSelected ? .state : nil
            }
            self.isBack = false
            return .back
        case .change: return .change
        case .beat: return line.isSelected ? .beat : nil
        // Nothing has happened since the line before.
        case .declared, .reply, .ask, .bye, .other: return nil
        }
    }
}

/// Runs a command once for each change of a machine that is followed, in order; only its success lets the next change
/// come.
///
/// The cursor is kept only after a change's command has succeeded: if this process or the daemon is
/// killed meanwhile, that change's command is run again.
struct EachSink {
    let command: ChildCommand
    /// Gives its standard input.
    let target: MachineTarget
    /// Whether to retry a command that fails, for as long as it takes; otherwise it ends the watch.
    let isRetrying: Bool
    let file: CursorFile?
    var progress: EachProgress

    mutating func take(_ news: Follow.News) async throws -> Follow.Step {
        guard case .line(let line) = news else {
            news.complain()
            return .next
        }
        switch self.progress.lineReceived(line) {
        case .run(let event, let resync):
            try await self.deal(with: line, as: event, resync: resync)
            try self.keep(line)
            try Task.checkCancellation()
            return .counted
        case .keep: try self.keep(line)
        case .pass: break
        case .readAgain: return .again(since: self.progress.cursor)
        }
        return .next
    }

    private mutating func keep(_ line: Line) throws {
        guard let cursor = line.cursor, cursor != self.progress.cursor else { return }
        try self.file?.write(cursor)
        self.progress.cursor = cursor
    }

    /// Runs the command until it succeeds.
    private func deal(with line: Line, as event: WatchEvent, resync: String?) async throws {
        let environment = LineEnvironment.watch(line, event: event.rawValue, resync: resync)
        let input = self.target.input(line, as: event)
        var pauses = GrowingPause()
        while true {
            let command = self.command
            // Not cancelled with this task, so that it can finish.
            let run = Task { await command.run(environment: environment, input: input) }
            let ending = await run.value
            guard let complaint = ending.complaint(about: command) else { return }
            let place = "change \(line.seq.map(String.init) ?? "?")"
            guard self.isRetrying else {
                StandardError.write("statectl: \(complaint); \(place) counts as not handled")
                throw ExitStatus.no
            }
            let pause = pauses.next()
            StandardError.write(
                "statectl: \(complaint); trying \(place) again in \(pause / .seconds(1)) s"
            )
            try await QuietClock().sleep(for: pause)
        }
    }
}

/// Decides what to do with a line when a command is run for each change; it has no effects.
struct EachProgress {
    enum Action: Equatable {
        /// Run the command; `resync` says why changes may be missing before the line.
        case run(WatchEvent, resync: String?)
        /// Nothing to run for; the cursor moves on, so that nothing earlier is asked for again.
        case keep
        case pass
        /// Read on after the cursor: what was not sent may still be there.
        case readAgain
    }

    /// The cursor of the last line that was dealt with.
    var cursor: String?
    /// Why changes may be missing before the next line that the command is run for.
    private var resync: String?
    /// Whether this subscription has brought anything.
    private var hasMoved = false

    init(since cursor: String?) {
        self.cursor = cursor
    }

    mutating func lineReceived(_ line: Line) -> Action {
        switch line.kind {
        case .change: return self.run(.change)
        case .state:
            guard let resync = line.resync else { return self.moved(.keep) }
            // A slow reader is told to read on from the daemon's disk. If that gains nothing, the
            // lines are lost.
            if resync == "lagged", self.hasMoved, self.cursor != nil {
                self.hasMoved = false
                return .readAgain
            }
            self.resync = resync
            return line.isSelected ? self.run(.state) : self.moved(.pass)
        // What is missing is asked for again until somebody has been told about it.
        case .live: return self.moved(self.resync == nil ? .keep : .pass)
        case .reply, .declared, .ask, .beat, .bye, .other: return .pass
        }
    }

    private mutating func run(_ event: WatchEvent) -> Action {
        defer { self.resync = nil }
        return self.moved(.run(event, resync: self.resync))
    }

    private mutating func moved(_ action: Action) -> Action {
        self.hasMoved = true
        return action
    }
}

extension Line {
    /// A state or a change that was asked for counts.
    fileprivate var step: Follow.Step {
        switch self.kind {
        case .state, .change: self.isSelected ? .counted : .next
        case .reply, .live, .declared, .ask, .beat, .bye, .other: .next
        }
    }
}

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
    private let target: MachineTarget
    private let complain: @Sendable (String) -> Void
    private let done: @Sendable (Line) -> Void
    private let waiting = Lock(Waiting())
    private let wishes: AsyncStream<Void>
    private let wish: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - command: the command to run.
    ///   - target: gives its standard input, and the machine of the lines.
    ///   - complain: called for a command that did not succeed.
    ///   - done: called with a line once its command has ended, however it did.
    init(
        _ command: ChildCommand,
        target: MachineTarget,
        complain: @escaping @Sendable (String) -> Void = { StandardError.write("statectl: \($0)") },
        done: @escaping @Sendable (Line) -> Void
    ) {
        self.command = command
        self.target = target
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
            if let mark = self.target.mark {
                environment["STATEMACHINE_INSTANCE"] = .some(mark.instanceName)
            }
            let ending = await self.command.run(
                environment: environment,
                input: self.target.input(job.line, as: job.event)
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
