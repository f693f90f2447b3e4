public import ArgumentParser
public import StateMachineClient
import StateMachineCore

struct HoldCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Keep states from being entered, for a while.",
        usage: """
            statectl hold --before PATTERN … [--when PATTERN …] [--when-not PATTERN …] [--within TIME] \
            [--mode block|delay] [--max TIME] [--why TEXT] [-- COMMAND …]
            statectl hold --before PATTERN … --as NAME --until WHEN|--max TIME [--mode block|delay] [--why TEXT]
            """,
        discussion: """
            Ends with the command's exit code, or 128 and the signal's number. Without a command \
            the hold lasts until this is interrupted. SIGTERM, SIGHUP and other signals that would end it are passed \
            on to the command, and the hold lasts until that has ended; SIGINT and SIGQUIT, which a terminal gives to \
            both, are left to it. If the daemon is lost meanwhile, the command continues, and the hold is taken again; \
            where the daemon has a history, it denies in the client's place until then, for ten seconds.

            With --when and --when-not the hold is taken first, and the command begins when the state is one of the first \
            and none of the second: what is held cannot come in between. With --within it gives up after that time, gives \
            the hold back, runs nothing and ends with exit code 124; the state is looked at once at least.

            With --as the hold belongs to the user, and statectl ends at once: it outlives logout, a restart and a power cut, \
            until WHEN (18:00, "mon 9:00", tomorrow, "2026-12-01 09:00") or for --max TIME, or until "statectl release NAME". \
            Taken again under its name it is renewed.

            Examples:

              statectl hold --before dark --why "a film" -- play film.mp4
              statectl hold --before dark --as reading --until tomorrow
            """
    )

    @OptionGroup var options: SharedOptions

    @Option(parsing: .upToNextOption, help: .value("pattern", "States that are not to be entered."))
    var before: [Pattern] = []

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "Once it is held, wait until it is one of these states.")
    )
    var when: [Pattern] = []

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "Once it is held, wait until it is none of these states.")
    )
    var whenNot: [Pattern] = []

    @Option(
        help: .value(
            "time",
            "With --when or --when-not: give up after this time, with exit code 124."
        )
    )
    var within: Seconds?

    @Option(help: "Whether a set is refused or has to wait (default: block).")
    var mode: Request.HoldMode?

    @Option(
        help: .value(
            "time",
            "With delay: how long a set waits, at most 60s (default: 1s). With --as, else: how long it lasts."
        )
    )
    var max: Seconds?

    @Option(
        name: .customLong("as"),
        help: .value("name", "A name, for a hold that outlives this command.")
    )
    var name: String?

    @Option(help: .value("when", "With --as: when it ends, at most in 400 days."))
    var until: String?

    @Option(help: .value("text", "Why, for whoever is refused."))
    var why: String?

    @Flag(help: "Say on standard error when the hold is taken, also where that is not a terminal.")
    var verbose = false

    @Argument(parsing: .postTerminator, help: .value("command", "What is run meanwhile."))
    var command: [String] = []

    func validate() throws {
        guard !self.before.isEmpty else {
            throw ValidationError("name the states: statectl hold --before PATTERN … -- COMMAND …")
        }
        guard self.name == nil else { return try self.validateLasting() }
        guard self.until == nil else {
            throw ValidationError("--until is for a hold of a name; it needs --as NAME")
        }
        guard self.max == nil || self.mode == .delay else {
            throw ValidationError(
                "--max is how long a set waits, with --mode delay, or how long the hold lasts, with --as NAME"
            )
        }
        guard self.within == nil || self.isConditional else {
            throw ValidationError(
                "--within needs --when or --when-not: it is how long they may take"
            )
        }
        try OptionLimits.checkExceptions("--when-not", self.whenNot, instead: "--when")
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

    /// The same for a hold that outlives this command.
    private func validateLasting() throws {
        try OptionLimits.checkName("--as", self.name)
        guard self.name?.allSatisfy(\.isNumber) != true else {
            throw ValidationError("--as is a name, and digits alone would be a number to release")
        }
        guard self.command.isEmpty, !self.isConditional, self.within == nil else {
            throw ValidationError("--as is for a hold that lasts; it runs no command")
        }
        if self.mode == .delay { try OptionLimits.checkVote("--max", self.max) }
        try OptionLimits.checkText("--why", self.why)
        _ = try self.lasting
    }

    /// How long a hold of a name lasts from now.
    private var lasting: Duration {
        get throws {
            let longest = Duration.milliseconds(RequestLimits.untilMs)
            let time: Duration
            switch (self.until, self.mode == .delay ? nil : self.max) {
            case (nil, let max?): time = max.duration
            case (let text?, nil):
                let place = TypedPlace(now: .now, isUTC: self.options.utc)
                guard let end = place.next(text) else {
                    throw ValidationError(
                        "--until is not a time: \(text.quoted); write \(TypedPlace.endExample)"
                    )
                }
                guard end > place.now else {
                    throw ValidationError("--until is over: \(text.quoted)")
                }
                time = .microseconds(end.microseconds - place.now.microseconds)
            case (nil, nil), (_?, _?):
                throw ValidationError(
                    "say when it ends: statectl hold --before PATTERN … --as NAME --until WHEN, or --max TIME"
                )
            }
            guard time <= longest else {
                throw ValidationError("a hold lasts at most 400 days")
            }
            return time
        }
    }

    /// Takes a hold that outlives this command.
    private func take(as name: String) async throws {
        let time = try self.lasting
        let request = Request.hold(
            before: self.before,
            mode: self.mode ?? .block,
            limit: self.mode == .delay ? self.max?.duration : nil,
            why: self.why,
            lasting: (name, time)
        )
        let reply = try await self.options.client.accepted(request)
        let end = WallTime(
            microseconds: WallTime.now.microseconds + time.wholeMicroseconds
        )
        try self.options.print(reply) { text in
            "hold \(reply.hold.map(String.init) ?? "?") is taken as \(name), until \(text.second(end) ?? "?")"
        }
    }

    /// What happens while the hold lasts.
    private var purpose: String {
        let states = self.before.map(\.text).joined(separator: ", ").printable
        let fate = self.mode == .delay ? "waits" : "is refused"
        let end = self.command.first.map { "\($0.printable) ends" } ?? "this is interrupted"
        return "what leads to \(states) \(fate) until \(end)"
    }

    func run() async throws {
        if let name { return try await self.take(as: name) }
        let client = try self.options.client
        let hold = client.hold(
            before: self.before,
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
    }
}

extension Request.HoldMode: ExpressibleByArgument {}
