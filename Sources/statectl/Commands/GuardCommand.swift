public import ArgumentParser
public import StateMachineClient

struct GuardCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard",
        abstract: "Let a command decide whether states may be entered.",
        usage: """
            statectl guard --before PATTERN … [--required NAME] [--timeout TIME] \
            [--on-timeout allow|deny] [--why TEXT] -- COMMAND …
            """,
        discussion: """
            While the guard is not connected, the states may be entered. With --required they are denied until it \
            connects again, also across restarts of the daemon, or until "statectl release --required NAME". A daemon \
            with a history waits 10 s for its guards at its next start, and what they guard waits too.

            For each question COMMAND is run with the daemon's line on its standard input and STATEMACHINE_STATE, \
            _DATA, _TO, _TO_DATA, _BY_UID, _BY_PID, _BY_COMM, _BY_UNIT, _CAUSE and _LEFT_MS in its environment. Exit \
            code 0 allows; any other denies, with the first line of its standard error as the reason, or else --why. \
            A command that takes longer than the daemon waits gets SIGTERM. SIGINT and SIGTERM end the guard and a \
            command that runs with it.

            Examples:

              statectl guard --before bright -- test -e mains
              statectl guard --before bright --required power -- test -e mains
            """
    )

    @OptionGroup var options: SharedOptions

    @Option(parsing: .upToNextOption, help: .value("pattern", "States to be asked about."))
    var before: [Pattern] = []

    @Option(help: .value("time", "How long the daemon waits, at most 60s (default: 1s)."))
    var timeout: Seconds?

    @Option(help: "What no answer in time counts as (default: allow).")
    var onTimeout: Request.Silence?

    @Option(help: .value("text", "The reason if the command gives none."))
    var why: String?

    @Option(help: .value("name", "Deny the states while no guard of this name is connected."))
    var required: String?

    @Flag(
        help:
            "Say on standard error when the guard is registered and what it says, also where that is not a terminal."
    )
    var verbose = false

    @Argument(parsing: .postTerminator, help: .value("command", "What decides."))
    var command: [String] = []

    func validate() throws {
        guard !self.before.isEmpty, !self.command.isEmpty else {
            throw ValidationError(
                "name the states and the command: statectl guard --before PATTERN … -- COMMAND …"
            )
        }
        try OptionLimits.checkVote("--timeout", self.timeout)
        try OptionLimits.checkText("--why", self.why)
        try OptionLimits.checkName("--required", self.required)
    }

    func run() async throws {
        guard var command = ChildCommand(self.command) else { return }
        try command.check()
        let client = try self.options.client
        command.directory = client.directory
        let guarding = client.guard(
            before: self.before,
            timeout: self.timeout?.duration,
            onTimeout: self.onTimeout,
            why: self.why,
            required: self.required
        )
        var run = GuardRun(
            guarding: guarding,
            command: command,
            why: self.why,
            isRequired: self.required != nil
        )
        if self.verbose || StandardError.isTerminal {
            run.report = { StandardError.write("statectl: \($0)") }
        }
        try await run.run()
    }
}

extension Request.Silence: ExpressibleByArgument {}
