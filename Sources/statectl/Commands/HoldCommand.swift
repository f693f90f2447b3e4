public import ArgumentParser
public import StateMachineClient
import StateMachineCore

struct HoldCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Keep states from being entered while a command runs.",
        usage: """
            statectl hold --before PATTERN … [--when PATTERN …] [--when-not PATTERN …] [--within TIME] \
            [--mode block|delay] [--max TIME] [--why TEXT] [-- COMMAND …]
            """,
        discussion: """
            Ends with the command's exit code, or 128 and the signal's number. Without a command \
            the hold lasts until this is interrupted. SIGTERM, SIGHUP and other signals that would end it are passed \
            on to the command, and the hold lasts until that has ended; SIGINT and SIGQUIT, which a terminal gives to \
            both, are left to it. If the daemon is lost meanwhile, the command continues, and the hold is taken again.

            With --when and --when-not the hold is taken first, and the command begins when the state is one of the first \
            and none of the second: what is held cannot come in between. With --within it gives up after that time, gives \
            the hold back, runs nothing and ends with exit code 124; the state is looked at once at least.
            """
    )

    @OptionGroup var options: SharedOptions

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("States that are not to be entered.", valueName: "pattern"),
        completion: .patterns
    )
    var before: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Once it is held, wait until it is one of these states.",
            valueName: "pattern"
        ),
        completion: .patterns
    )
    var when: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Once it is held, wait until it is none of these states.",
            valueName: "pattern"
        ),
        completion: .patterns
    )
    var whenNot: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --when or --when-not: give up after this time, with exit code 124.",
            valueName: "time"
        )
    )
    var within: Seconds?

    @Option(help: "Whether a set is refused or has to wait (default: block).")
    var mode: Request.HoldMode?

    @Option(
        help: ArgumentHelp(
            "With delay: how long a set waits, at most 60s (default: 1s).",
            valueName: "time"
        )
    )
    var max: Seconds?

    @Option(help: ArgumentHelp("Why, for whoever is refused.", valueName: "text"))
    var why: String?

    @Flag(help: "Say on standard error when the hold is taken, where that is no terminal too.")
    var verbose = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("What is run meanwhile.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard !self.before.isEmpty else {
            throw ValidationError("name the states: statectl hold --before PATTERN … -- COMMAND …")
        }
        guard self.max == nil || self.mode == .delay else {
            throw ValidationError("--max is how long a set waits; it needs --mode delay")
        }
        guard self.within == nil || self.isConditional else {
            throw ValidationError(
                "--within is how long --when or --when-not may take; give one of them"
            )
        }
        if let pattern = self.whenNot.first(where: { $0.hasPrefix("!") }) {
            throw ValidationError("--when-not takes no \"!\"; write --when \(pattern.dropFirst())")
        }
        try OptionLimits.checkVote("--max", self.max)
        try OptionLimits.checkText("--why", self.why)
        guard !self.isConditional || !self.command.isEmpty else {
            let option = self.when.isEmpty ? "--when-not" : "--when"
            throw ValidationError(
                "\(option) is about a command: statectl hold --before PATTERN … \(option) PATTERN … -- COMMAND …"
            )
        }
    }

    /// Whether the command waits for a state.
    private var isConditional: Bool { !self.when.isEmpty || !self.whenNot.isEmpty }

    /// What happens while the hold lasts.
    private var purpose: String {
        let states = self.before.joined(separator: ", ").printable
        let fate = self.mode == .delay ? "waits" : "is refused"
        let end = self.command.first.map { "\($0.printable) ends" } ?? "this is interrupted"
        return "what leads to \(states) \(fate) until \(end)"
    }

    func run() async throws {
        let client = try self.options.client
        let hold = client.hold(
            before: self.before.map { Pattern(typed: $0) },
            mode: self.mode ?? .block,
            limit: self.max?.duration,
            why: self.why
        )
        var run = HoldRun(hold: hold, purpose: self.purpose)
        if self.verbose || StandardError.isTerminal {
            run.report = { StandardError.write("statectl: \($0)") }
        }
        if self.isConditional {
            run.condition = HoldCondition(client: client, when: self.when, whenNot: self.whenNot)
            run.limit = self.within?.duration
        }
        do {
            guard var command = ChildCommand(self.command) else { return try await run.keep() }
            try command.check()
            command.directory = client.directory
            let ending = try await run.keep(during: command)
            switch ending {
            case .exited, .signalled: break
            case .notFound, .notStarted:
                if let complaint = ending.complaint(about: command) { run.complain(complaint) }
            }
            throw ProcessEnd.status(ending.status)
        } catch ClientError.refused(let reply) {
            try self.options.refuse(reply)
        }
    }
}

extension Request.HoldMode: ExpressibleByArgument {}
