import ArgumentParser
import Processes
import StateMachineClient

struct WatchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the state and every change as it happens.",
        usage: """
            statectl watch [PATTERN …] [--count N] [--since CURSOR] [--cursor-file FILE] [--latest] \
            [--every TIME] [--beat TIME] [--stuck TIME] [--until PATTERN …] [--no-wait] \
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

            SIGINT and SIGTERM end the watch when the command that runs has ended; a second signal does not wait for \
            it.

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

    @Option(help: .value("n", "End after this many lines."))
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

    @Option(help: .value("time", "At most one change in this time."))
    var every: Seconds?

    @Option(help: .value("time", "A line after this much silence, too."))
    var beat: Seconds?

    @Option(help: .value("time", "A line when a state has lasted this long."))
    var stuck: Seconds?

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "End, with exit code 0, once in this state.")
    )
    var until: [Pattern] = []

    @Flag(help: "End, with exit code 69, if the daemon is not there.")
    var noWait = false

    @Flag(help: "Run the command for each change, in order, and continue when it has succeeded.")
    var each = false

    @Flag(help: "With --each: run the command again when it fails.")
    var retry = false

    @Flag(
        help: """
            Run the command when the daemon goes and comes back, too: the default without patterns, --each and --stuck.
            """
    )
    var gone = false

    @Option(
        parsing: .remaining,
        help: .value("command", "Run this for each line; the last option.")
    )
    var exec: [String] = []

    func validate() throws {
        guard self.count.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--count must be at least 1")
        }
        if let since = self.since, Cursor(since) == nil {
            throw ValidationError(
                "--since of a watch takes a cursor, as lines have it; for times there is statectl history --since"
            )
        }
        guard self.cursorFile != "" else {
            throw ValidationError("--cursor-file is empty; name the file")
        }
        try OptionLimits.checkBeat("--beat", self.beat)
        for (isGiven, name) in [(self.each, "--each"), (self.gone, "--gone")]
        where isGiven && self.exec.isEmpty {
            throw ValidationError(
                "\(name) is about a command: statectl watch \(name) --exec COMMAND …"
            )
        }
        try self.format.check(beside: self.options)
        guard self.each || !self.retry else {
            throw ValidationError(
                "--retry is for --each; without it the next change runs the command"
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
        let command = ChildCommand(self.exec)
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
        try await target.format?.check(client)
        let follow = Follow(
            watch: { since in
                client.watch(
                    since: since,
                    only: self.patterns,
                    pace: Pace(
                        isLatest: self.latest,
                        every: self.every?.duration,
                        beat: self.beat?.duration
                    ),
                    until: self.until,
                    isPatient: !self.noWait
                )
            },
            since: since,
            count: self.count
        )
        var command = command
        command?.directory = client.directory
        if self.each, let command {
            var sink = EachSink(
                command: command,
                target: target,
                isRetrying: self.retry,
                file: file,
                progress: EachProgress(since: since)
            )
            return try await follow.run { try await sink.take($0) }
        }
        let keeper = file.map { CursorKeeper($0) }
        var run = WatchRun(follow: follow, target: target, keeper: keeper)
        run.queue = command.map { command in
            CommandQueue(command, target: target) { keeper?.note($0.cursor) }
        }
        run.tellsOfDaemon = self.gone || self.patterns.isEmpty && self.stuck == nil
        run.stuck = self.stuck.map {
            StuckWatch(client, patterns: self.patterns, span: $0.duration)
        }
        try await run.run()
    }
}
