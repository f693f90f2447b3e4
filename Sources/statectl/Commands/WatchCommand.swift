import ArgumentParser
import StateMachineClient

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the state and every change as it happens.",
        usage: """
            statectl watch [PATTERN …] [--count N] [--since CURSOR] [--cursor-file FILE] [--latest] \
            [--every TIME] [--beat TIME] [--until PATTERN …] [--exec COMMAND … | -- COMMAND …]
            """,
        discussion: """
            Goes on by itself when the daemon restarts, and ends when its reader does. What was \
            missed meanwhile is said in the line that follows.

            With patterns a change is shown that leads to such a state or into such a group. One that leaves it for \
            another is not: name what it may lead to as well, or no pattern.

            A command is run for each line instead of showing it, one at a time; of the lines that \
            come while it runs only the newest counts. It has the line on its standard input and \
            STATEMACHINE_STATE, _DATA, _FROM, _FROM_DATA, _SEQ, _CURSOR and _RESYNC in its \
            environment. If it fails, that is said, and the watch goes on. SIGINT and SIGTERM end \
            the watch once the command that runs has ended; a second signal does not wait.
            """
    )

    @OptionGroup var options: SharedOptions

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
            valueName: "file"
        ),
        completion: .file()
    )
    var cursorFile: String?

    @Flag(help: "Leave out changes that are not the newest any more.")
    var latest = false

    @Option(help: ArgumentHelp("At most one change in so much time.", valueName: "time"))
    var every: Seconds?

    @Option(help: ArgumentHelp("A line after so much silence, too.", valueName: "time"))
    var beat: Seconds?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("End, with exit code 0, once in this state.", valueName: "pattern"),
        completion: .patterns
    )
    var until: [String] = []

    @Option(
        parsing: .remaining,
        help: ArgumentHelp("Run this for each line; the last option.", valueName: "command")
    )
    var exec: [String] = []

    func validate() throws {
        guard self.count.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--count must be at least 1")
        }
        guard self.cursorFile != "" else {
            throw ValidationError("--cursor-file is empty; name the file")
        }
        try OptionLimits.checkBeat("--beat", self.beat)
    }

    func run() async throws {
        let file = self.cursorFile.map { CursorFile(path: $0) }
        let watch = try self.options.client.watch(
            since: try file?.read() ?? self.since,
            only: self.patterns.map { Pattern(typed: $0) },
            pace: Pace(
                isLatest: self.latest,
                every: self.every?.duration,
                beat: self.beat?.duration
            ),
            until: self.until.map { Pattern(typed: $0) }
        )
        let keeper = file.map { CursorKeeper($0) }
        let queue = ChildCommand(self.exec).map { command in
            CommandQueue(
                command,
                complain: { StandardError.write("statectl: \($0)") },
                done: { keeper?.note($0.cursor) }
            )
        }
        var run = WatchRun(watch: watch, options: self.options)
        (run.count, run.queue, run.keeper) = (self.count, queue, keeper)
        do {
            try await run.run()
        } catch ClientError.refused(let reply) {
            try self.options.refuse(reply)
        }
    }
}
