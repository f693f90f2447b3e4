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
            Waits for the daemon if it is not there, continues by itself when it restarts, and ends when its reader \
            does. That the daemon has gone or come back is shown by a line, and what was missed meanwhile is said in \
            the line that follows.

            With patterns a state is shown that matches one, and a change that leads to such a state or into such a \
            group, and no other. A change that leaves it for another is not: name what it may lead to as well, or no \
            pattern.

            A command is run for each line instead of showing it, one at a time. It has the line on its standard \
            input, or what --format makes of it, and STATEMACHINE_STATE, _DATA, _FROM, _FROM_DATA, _SEQ, _AT, \
            _BY_UID, _BY_PID, _BY_COMM, _BY_UNIT, _CAUSE, _CURSOR and _RESYNC in its environment, and in \
            STATEMACHINE_EVENT what it is told of: state, change, beat, stuck, gone or back; of several machines also \
            the name in STATEMACHINE_INSTANCE, empty for the one without, and each has a command of its own that \
            runs. Where the daemon is gone, or not there to begin with, the state is not known and not in the \
            environment.

            Of the lines that come while the command runs only the newest counts, which is right for whatever shows \
            or follows the state: a lamp, a service to be started. If it fails, that is said, and the watch continues. \
            With --each it is run for every change, in order, which is right for whatever is to happen once for each: \
            a message, an entry. The cursor is written to --cursor-file when it has succeeded, and not before, so over \
            whatever is killed meanwhile no change is left out, and one may come twice. If it fails, the watch ends, \
            or with --retry it is run again, after pauses that grow from a second to a minute. The state to begin with \
            is no change, unless changes are missing before it, of which _RESYNC says why.

            With --stuck the command is run once of each stay that has lasted so long, and not for the states and changes \
            before; --gone adds the daemon's going and coming.

            SIGINT and SIGTERM end the watch once the command that runs has ended; a second signal does not wait.
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var format: FormatOption

    @OptionGroup var machines: SeveralMachines

    @Argument(
        help: ArgumentHelp("Only states that match one of these.", valueName: "pattern"),
        completion: .patterns
    )
    var patterns: [String] = []

    @Option(help: ArgumentHelp("End after so many lines.", valueName: "n"))
    var count: Int?

    @Option(
        help: ArgumentHelp("Begin with the changes after this cursor.", valueName: "cursor")
    )
    var since: String?

    @Option(
        help: ArgumentHelp(
            "Go on from the cursor in this file, if it is there, and keep it up to date.",
            discussion:
                "It is replaced as a whole; a link in its place is replaced too, and not followed.",
            valueName: "file"
        ),
        completion: .file()
    )
    var cursorFile: String?

    @Flag(help: "Leave out changes that are no longer the newest.")
    var latest = false

    @Option(help: ArgumentHelp("At most one change in so much time.", valueName: "time"))
    var every: Seconds?

    @Option(help: ArgumentHelp("A line after so much silence, too.", valueName: "time"))
    var beat: Seconds?

    @Option(help: ArgumentHelp("A line when a state has lasted so long.", valueName: "time"))
    var stuck: Seconds?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("End, with exit code 0, once in this state.", valueName: "pattern"),
        completion: .patterns
    )
    var until: [String] = []

    @Flag(help: "End, with exit code 69, if the daemon is not there.")
    var noWait = false

    @Flag(help: "Run the command for each change, in order, and continue when it has succeeded.")
    var each = false

    @Flag(help: "With --each: run the command again when it fails.")
    var retry = false

    @Flag(
        help: """
            Run the command when the daemon goes and comes, too; without patterns that is so, but for --each and --stuck.
            """
    )
    var gone = false

    @Option(
        parsing: .remaining,
        help: ArgumentHelp("Run this for each line; the last option.", valueName: "command")
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
            throw ValidationError("--each is about changes, every one of them; leave \(other) out")
        }
    }

    func run() async throws {
        let command = ChildCommand(self.exec)
        try command?.check()
        let targets = try self.machines.targets(self.options)
        let others = [
            (self.since != nil, "--since"), (self.cursorFile != nil, "--cursor-file"),
            (self.count != nil, "--count"), (!self.until.isEmpty, "--until"),
            (self.each, "--each"),
        ]
        if targets.count > 1, let other = others.first(where: \.0)?.1 {
            throw ValidationError("\(other) is about one machine; give --machine once")
        }
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
        try await self.format.check(client)
        let printer = LinePrinter(
            options: target.options,
            mark: target.mark,
            format: try self.format.parsed
        )
        let patterns = self.patterns.map { Pattern(typed: $0) }
        let follow = Follow(
            watch: { since in
                client.watch(
                    since: since,
                    only: patterns,
                    pace: Pace(
                        isLatest: self.latest,
                        every: self.every?.duration,
                        beat: self.beat?.duration
                    ),
                    until: self.until.map { Pattern(typed: $0) },
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
                printer: printer,
                isRetrying: self.retry,
                file: file,
                progress: EachProgress(since: since)
            )
            return try await follow.run { try await sink.take($0) }
        }
        let keeper = file.map { CursorKeeper($0) }
        var run = WatchRun(follow: follow, printer: printer, keeper: keeper)
        run.queue = command.map { command in
            CommandQueue(command, printer: printer) { keeper?.note($0.cursor) }
        }
        run.tellsOfDaemon = self.gone || self.patterns.isEmpty && self.stuck == nil
        run.stuck = self.stuck.map { StuckWatch(client, patterns: patterns, span: $0.duration) }
        try await run.run()
    }
}
