import ArgumentParser
import Processes
import StateMachineClient
import StateMachineCore

struct WatchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the state and every change as it happens.",
        usage: """
            statectl watch [PATTERN …] [--count N] [--since CURSOR] [--cursor-file FILE] [--latest] \
            [--stays] [--every TIME] [--beat TIME] [--stuck TIME] [--until PATTERN …] [--no-wait] \
            [--each [--retry]] [--gone] [--exec COMMAND … | -- COMMAND …]
            """,
        discussion: """
            Waits for the daemon if it is not running, continues by itself when it restarts, and ends when its \
            reader does. A line says when the daemon has gone or come back, and the line after that says what was \
            missed.

            With patterns, only states that match one are shown, and changes that lead to one. A change that leaves \
            such a state is not shown unless the state that it leads to matches too.

            With --exec a command is run for each line instead of showing it, one at a time. It has the line, or \
            what --format makes of it, on its standard input, and in its environment STATEMACHINE_STATE, _DATA, \
            _FROM, _FROM_DATA, _SEQ, _AT, _BY_UID, _BY_PID, _BY_COMM, _BY_UNIT, _CAUSE, _CURSOR and _RESYNC, and in \
            STATEMACHINE_EVENT the kind of the line: state, change, beat, stuck, gone or back. With several machines \
            STATEMACHINE_INSTANCE has the machine's name, empty for the unnamed one, and one command runs at a time \
            for each. While the daemon is gone there is no state in the environment.

            Of the lines that come while the command runs, only the newest is handled after it: right for a command \
            that shows or follows the state, such as a lamp. If the command fails, a message says so and the watch \
            continues. With --each the command is run for every change, in order: right for what must happen once \
            for each, such as a message. --cursor-file is written when the command has succeeded, so no change is \
            left out if something is killed, but one may come twice. If the command fails, the watch ends; with \
            --retry it is run again, after pauses that grow from a second to a minute. The first state counts as a \
            change only if changes before it are missing; _RESYNC then says why.

            With --stuck the command is run once for each stay that has lasted that long, and not for states and \
            changes; --gone adds the daemon's going and coming back.

            SIGINT and SIGTERM end the watch when the command that runs has ended. With a second signal, or if statectl is \
            killed, the command gets SIGTERM, and after ten seconds SIGKILL, and so do the processes that it has started, \
            but for those in a session of their own.

            Examples:

              statectl watch dim bright
              statectl watch --exec sh -c 'echo "$STATEMACHINE_STATE" >shown'
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var format: FormatOption

    @OptionGroup var machines: SeveralMachines

    @Argument(help: .value("pattern", "Only states that match one of these."))
    var patterns: [Pattern] = []

    @Option(
        help: .value(
            "n",
            "End after this many states and changes; beats and other lines do not count."
        )
    )
    var count: Int?

    @Option(help: .value("cursor", "Begin with the changes after this cursor."))
    var since: String?

    @Option(
        help: .value(
            "file",
            "Continue from the cursor in this file, if it exists, and keep it up to date.",
            "It is replaced as a whole; a link in its place is replaced too, and not followed."
        ),
        completion: .file()
    )
    var cursorFile: String?

    @Flag(help: "Leave out changes that are no longer the newest.")
    var latest = false

    @Flag(help: "A line for each stay, and none for what is updated in it.")
    var stays = false

    @Option(help: .value("time", "At most one change in this time."))
    var every: Seconds?

    @Option(help: .value("time", "Also a line after this much silence."))
    var beat: Seconds?

    @Option(help: .value("time", "A line when a state has lasted this long."))
    var stuck: Seconds?

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "End, with exit code 0, once in this state.")
    )
    var until: [Pattern] = []

    @Flag(help: "End, with exit code 69, if the daemon is not there at the start.")
    var noWait = false

    @Flag(help: "Run the command for each change, in order, and continue when it has succeeded.")
    var each = false

    @Flag(help: "With --each: run the command again when it fails.")
    var retry = false

    @Flag(
        help: """
            Also run the command when the daemon goes and comes back: the default without patterns, --each and --stuck.
            """
    )
    var gone = false

    @Option(
        parsing: .remaining,
        help: .value("command", "Run this for each line; must be the last option.")
    )
    var exec: [String] = []

    func validate() throws {
        try demand(self.count.map({ $0 > 0 }) ?? true, "--count must be at least 1")
        try OptionLimits.checkCursor("--since", self.since)
        try demand(self.cursorFile != "", "--cursor-file is empty; name the file")
        try OptionLimits.checkBeat("--beat", self.beat)
        for (isGiven, name) in [(self.each, "--each"), (self.gone, "--gone")]
        where isGiven && self.exec.isEmpty {
            throw ValidationError(
                "\(name) needs a command: statectl watch \(name) --exec COMMAND …"
            )
        }
        try self.format.check(beside: self.options)
        guard self.each || !self.retry else {
            throw ValidationError(
                "--retry needs --each; without --each the next change runs the command again"
            )
        }
        let others = [
            (self.latest, "--latest"), (self.beat != nil, "--beat"), (self.gone, "--gone"),
            (self.stuck != nil, "--stuck"),
        ]
        if self.each, let other = others.first(where: \.0)?.1 {
            throw ValidationError("--each runs the command for every change; leave \(other) out")
        }
    }

    func run() async throws {
        let command = ChildCommand(bytes: ArgumentWords.last(self.exec.count))
        try command?.check()
        let one = [
            (self.since != nil, "--since"), (self.cursorFile != nil, "--cursor-file"),
            (self.count != nil, "--count"), (!self.until.isEmpty, "--until"),
            (self.each, "--each"),
        ]
        let targets = try self.machines.targets(self.options, self.format, one: one)
        let file = self.cursorFile.map { CursorFile(path: $0) }
        let since = try file?.read() ?? self.since
        // The first machine that cannot be watched ends the watch of them all.
        var entries = targets.map { target in
            { @Sendable in try await self.watch(target, since: since, command, file) }
        }
        if command == nil { entries.append(Race.reader) }
        // A command that runs then may finish; a second signal has its usual effect.
        if command != nil || file != nil { entries.append(Race.signal) }
        try await Race.run(entries)
    }

    /// Watches one machine.
    private func watch(
        _ target: MachineTarget,
        since: String?,
        _ command: ChildCommand?,
        _ file: CursorFile?
    ) async throws {
        var timeout: Duration?
        let client = try await target.options.client(isPatient: !self.noWait, within: &timeout)
        try await target.checkFormat(client)
        let pace = Pace(
            isLatest: self.latest,
            every: self.every?.duration,
            beat: self.beat?.duration
        )
        let watch = client.watch(
            since: since,
            only: self.patterns,
            pace: pace,
            until: self.until,
            isPatient: !self.noWait
        )
        let follow = Follow(watch: watch, count: self.count)
        var command = command
        command?.directory = client.directory
        if self.each, let command { return try await self.each(follow, command, for: target, file) }
        let keeper = file.map { CursorKeeper($0) }
        var run = WatchRun(follow: follow, target: target, keeper: keeper)
        run.showsStaysOnly = self.stays
        run.queue = command.map { command in
            CommandQueue(command, target: target) { keeper?.note($0.cursor) }
        }
        run.tellsOfDaemon = self.gone || self.patterns.isEmpty && self.stuck == nil
        run.stuck = self.stuck.map {
            StuckWatch(client: client, patterns: self.patterns, span: $0.duration)
        }
        try await run.run()
    }
}

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
    /// Whether updates within a stay are left out.
    var showsStaysOnly = false
    /// Reports states that last too long; a command is run for these then, and for no other state.
    var stuck: StuckWatch?

    /// Follows the machine to the end, or until the task is cancelled; a command that runs then may finish.
    func run() async throws {
        // A task of its own, which is always awaited: what ends the watch does not end a command.
        let commands = self.queue.map { queue in
            Task(executorPreference: QueueExecutor.shared) { await queue.run() }
        }
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
        // Whether the daemon is back and its state has not come since.
        var isBack = false
        var stays = StaySelection()
        try await self.follow.run { news in
            switch news {
            case .line(let line):
                if self.showsStaysOnly, !stays.lineReceived(line) {
                    self.pass(line)
                    return .next
                }
                let isState = line.kind == .state || line.kind == .live
                try self.take(line, isBack: isState && isBack)
                if isState { isBack = false }
                self.stuck?.lineReceived(line)
                // A state or a change that was asked for counts.
                return line.isSelected && [.state, .change].contains(line.kind) ? .counted : .next
            case .connected(isAgain: true):
                isBack = true
                if self.queue == nil { try self.target.back() } else { news.complain() }
            case .gone(let error), .awaited(let error):
                if self.queue == nil, case .gone = news {
                    try self.target.gone(error)
                } else {
                    news.complain()
                }
                // What a command shows from an earlier run may be outdated.
                guard self.tellsOfDaemon, let line = Line.gone(error) else { break }
                self.queue?.add(line, as: .gone)
            case .connected, .reached: break
            }
            return .next
        }
    }

    /// Passes over a line that is not asked for.
    private func pass(_ line: Line) {
        if let queue { queue.pass(line) } else { self.keeper?.note(line.cursor) }
        self.stuck?.lineReceived(line)
    }

    private func take(_ line: Line, isBack: Bool) throws {
        guard let queue else {
            try self.target.show(line, isBack: isBack)
            self.keeper?.note(line.cursor)
            return
        }
        let isReturn = isBack && self.tellsOfDaemon
        if isReturn || line.isSelected && self.stuck == nil,
            let event = isReturn ? .back : WatchEvent(line)
        {
            queue.add(line, as: event)
        } else {
            queue.pass(line)
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

/// Decides which lines of a watch begin a stay that has not been shown; it has no effects.
struct StaySelection {
    /// The number of the last stay that was shown.
    private var last: UInt64?

    /// Whether a line is to be shown: the first of its stay that comes, and all that are no changes.
    mutating func lineReceived(_ line: Line) -> Bool {
        guard [.state, .change].contains(line.kind), line.isSelected, let seq = line.seq else {
            return true
        }
        let stay = line.stay ?? seq
        let previous = exchange(&self.last, with: stay)
        if line.kind == .state { return true }
        // What was before the cursor that a replay begins with has been shown before.
        return previous.map { $0 != stay } ?? (stay == seq || !line.isReplay)
    }
}

/// Runs a command for lines, one at a time; of the lines that come meanwhile only the newest counts.
///
/// Guarded state: `waiting`, behind its lock.
final class CommandQueue: Sendable {
    /// The newest line and its event; and why changes may be missing before it, or before one replaced or skipped.
    private typealias Waiting = (job: (line: Line, event: WatchEvent)?, resync: String?)

    private let command: ChildCommand
    private let target: MachineTarget
    private let complain: @Sendable (String) -> Void
    private let done: @Sendable (Line) -> Void
    private let waiting = Lock<Waiting>((nil, nil))
    private let bell = Doorbell()

    /// - Parameters:
    ///   - command: the command to run.
    ///   - target: gives its standard input, and the machine of the lines.
    ///   - complain: called for a command that did not succeed.
    ///   - done: called with a line once its command has ended, however it did.
    init(
        _ command: ChildCommand,
        target: MachineTarget,
        complain: @escaping @Sendable (String) -> Void = StandardError.say,
        done: @escaping @Sendable (Line) -> Void
    ) {
        self.command = command
        self.target = target
        self.complain = complain
        self.done = done
    }

    /// Runs the command for this line, once it is not running any more.
    func add(_ line: Line, as event: WatchEvent) {
        self.waiting.withLock { waiting in
            waiting.job = (line, event)
            waiting.resync = line.resync ?? waiting.resync
        }
        self.bell.ring()
    }

    /// Skips a line; the next command is told if changes may be missing before it.
    func pass(_ line: Line) {
        guard let resync = line.resync else { return }
        self.waiting.withLock { $0.resync = resync }
    }

    /// Ends the queue; a line that waits still has its command run.
    func finish() { self.bell.finish() }

    /// Ends the queue and drops a line that waits.
    func stop() {
        self.waiting.withLock { $0.job = nil }
        self.finish()
    }

    /// Returns once there are no more lines and the last command has ended.
    func run() async {
        for await _ in self.bell.rings {
            guard case (let job?, let resync) = self.take() else { continue }
            let complaint = await self.command.run(
                for: job.line,
                of: self.target,
                as: job.event,
                resync: resync
            )
            if let complaint { self.complain(complaint) }
            self.done(job.line)
        }
    }

    private func take() -> Waiting {
        self.waiting.withLock { waiting in
            defer { waiting = waiting.job == nil ? waiting : (nil, nil) }
            return waiting
        }
    }
}

extension ChildCommand {
    /// Runs it because of a line, which it has in its environment and on its standard input.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - target: the machine that the line is of.
    ///   - event: what the line reports.
    ///   - resync: why changes may be missing before the line.
    /// - Returns: what to say if it did not succeed.
    func run(
        for line: Line,
        of target: MachineTarget,
        as event: WatchEvent,
        resync: String?
    ) async -> String? {
        var environment = LineEnvironment.watch(line, event: event.rawValue, resync: resync)
        if let mark = target.mark { environment["STATEMACHINE_INSTANCE"] = mark.instanceName }
        let ending = await self.run(environment: environment, input: target.input(line, as: event))
        return ending.complaint(about: self)
    }
}
