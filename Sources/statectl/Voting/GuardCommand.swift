public import ArgumentParser
import Glibc
import Processes
public import StateMachineClient
import StateMachineCore

struct GuardCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard",
        abstract: "Let a command decide whether states may be entered.",
        usage: """
            statectl guard --before PATTERN … [--required NAME] [--timeout TIME] \
            [--on-timeout allow|deny] [--why TEXT] [--wait] -- COMMAND …
            """,
        discussion: """
            The guard is asked before a state is entered that matches. A pattern with values (closed:armed=true, \
            'playing:volume>80') is also asked about an update that makes it match, which then waits: give a guard of \
            progress a short --timeout.

            While the guard is not connected, the states may be entered. With --required they are denied until it \
            connects again, also across restarts of the daemon, or until "statectl release --required NAME". For others a daemon \
            with a history waits 10 s at its next start, and the states that they guard wait with it.

            For each question COMMAND is run with the daemon's line on its standard input and STATEMACHINE_STATE, \
            _DATA, _TO, _TO_DATA, _BY_UID, _BY_PID, _BY_COMM, _BY_UNIT, _CAUSE and _LEFT_MS in its environment. Exit \
            code 0 allows; any other denies, with the first line of its standard error as the reason, or else --why. \
            A command that takes longer than the daemon waits gets SIGTERM, and after ten seconds SIGKILL, and so do the \
            processes that it has started, but for those in a session of their own. A command that runs ends with the guard \
            in the same way, whatever ends that.

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

    @Flag(help: "Wait for the daemon if it is not there at the start.")
    var wait = false

    @Flag(
        help:
            "Say on standard error when the guard is registered and what it says, also where that is not a terminal."
    )
    var verbose = false

    @Argument(parsing: .postTerminator, help: .value("command", "The command that decides."))
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
        guard var command = ChildCommand(bytes: ArgumentWords.last(self.command.count)) else {
            return
        }
        try command.check()
        var forever: Duration?
        let client = try await self.options.client(isPatient: self.wait, within: &forever)
        command.directory = client.directory
        var guarding = client.guard(
            before: self.before,
            timeout: self.timeout?.duration,
            onTimeout: self.onTimeout,
            why: self.why,
            required: self.required
        )
        guarding.isPatient = self.wait
        var run = GuardRun(
            guarding: guarding,
            command: command,
            why: self.why,
            isRequired: self.required != nil
        )
        if self.verbose || StandardError.isTerminal { run.report = StandardError.say }
        try await run.run()
    }
}

extension Request.Silence: ExpressibleByArgument {}

/// A guard whose votes are a command's exit codes.
struct GuardRun: Sendable {
    private typealias Answer = (isAllowed: Bool, why: String?)

    let guarding: Guard
    let command: ChildCommand
    /// The reason for a no that the command gives none for.
    let why: String?
    /// Whether the states that it guards are denied while it is not connected.
    var isRequired = false
    /// Called with what goes right.
    var report: @Sendable (String) -> Void = { _ in }
    /// Called with what goes wrong.
    var complain: @Sendable (String) -> Void = StandardError.say

    /// Answers questions until there is a signal, or trying again cannot help.
    func run() async throws {
        try await Race.run(
            { try await self.answerAll() },
            // What others have to wait for ends with its script, in the background too; SIGHUP that was ignored
            // stays so: that is what nohup(1) is for.
            { try await Race.signal(evenIgnored: [SIGINT, SIGTERM]) }
        )
    }

    /// Answers questions until the task is cancelled.
    ///
    /// The daemon asks one question at a time, and a next one only after it has given up the last;
    /// the command of that one may still be about to end.
    func answerAll() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var isAnew = false
            for try await event in self.guarding {
                switch event {
                case .registered(let number):
                    if isAnew {
                        self.complain("connected; guard \(number) is registered again")
                    } else {
                        self.report("guard \(number) is registered; \(self.command.name) decides")
                    }
                    isAnew = true
                case .asked(let question): group.addTask { try await self.answer(question) }
                case .interrupted(let error, let attempt, _):
                    guard attempt == 1 else { continue }
                    guard isAnew else {
                        self.complain(error.awaiting)
                        continue
                    }
                    let fate =
                        self.isRequired
                        ? "the states that it guards are denied"
                        : "and its states may be entered; a restarted daemon with a history first waits 10 s for the guard"
                    self.complain("\(error.reconnecting), \(fate)")
                }
            }
        }
    }

    private func answer(_ question: Guard.Question) async throws {
        let line = question.line
        let asked = "\(line.state?.text ?? "?") → \(line.destination?.text ?? "?")"
        self.report("asked about \(asked)")
        guard let answer = try await self.answer(on: line) else { return }
        let why = answer.why.map { ": \($0.printable)" } ?? ""
        self.report(
            "\(answer.isAllowed ? "allowed" : "denied") \(asked)\(answer.isAllowed ? "" : why)"
        )
        do {
            try await question.vote(allow: answer.isAllowed, why: answer.why)
        } catch {
            // The daemon that asked is gone and has let the state in; the iteration reports the
            // connection.
        }
    }

    /// The command's answer; nil if it did not come in time.
    private func answer(on line: Line) async throws -> Answer? {
        let answer = try await Race.run(
            [{ @Sendable in await self.ask(line) }],
            within: line.timeLeft
        ) { nil }
        // A command that was told to end has not decided anything.
        try Task.checkCancellation()
        if answer == nil {
            let name = self.command.name
            self.complain("\(name) took longer than the daemon waits, and was stopped")
        }
        return answer
    }

    private func ask(_ line: Line) async -> Answer {
        let (ending, complaint) = await self.command.runKeepingComplaint(
            environment: LineEnvironment.question(line),
            input: line.text + "\n"
        )
        switch ending {
        case .exited(0): return (true, nil)
        case .exited: break
        case .signalled, .notFound, .notStarted, .left:
            // Cancellation shows as a signal; whose it was does not matter any more then.
            if !Task.isCancelled, let words = ending.complaint(about: self.command) {
                self.complain(words)
            }
        }
        return (false, complaint ?? self.why)
    }
}

struct ReleaseCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Give back a hold or a guard.",
        usage: """
            statectl release N|NAME
            statectl release --required NAME
            """,
        discussion: """
            Your own, or as root anybody's. A refused set and "statectl status" show the numbers and names. A \
            required guard is released for good, connected or not; it is required again when it connects again, so \
            stop it first. A program that held is not told, and takes its hold again if the daemon crashes.

            Examples:

              statectl release reading
              statectl release --required power
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: .value("n", "The number of a hold or a guard, or the name of a hold."),
        completion: .offering { await $0.names(of: "holds", under: "as") }
    )
    var hold: String?

    @Option(
        help: .value("name", "The name of a required guard."),
        completion: .offering { await $0.names(of: "guards", under: "required") }
    )
    var required: String?

    func validate() throws {
        try OptionLimits.checkName("--required", self.required)
        _ = try self.request
    }

    private var request: Request {
        get throws {
            switch (self.hold, self.required) {
            case (let hold?, nil):
                if let number = UInt64(hold) { return .release(number) }
                try OptionLimits.checkName("the name", hold)
                return .release(named: hold)
            case (nil, let name?): return .release(required: name)
            case (let hold?, _?):
                throw ValidationError(
                    "\(hold.quoted) and --required cannot be used together; give one"
                )
            case (nil, nil):
                throw ValidationError(
                    "name the hold or guard: statectl release N, statectl release NAME, or statectl release --required NAME"
                )
            }
        }
    }

    func run() async throws {
        let reply = try await self.options.answer(
            to: self.request,
            doubt: "it may or may not have been given back: statectl status"
        )
        // A required guard has a name, too.
        if reply.error == .notFound, let hold, UInt64(hold) == nil, !self.options.json {
            let refusal = self.options.text.refusal(reply)
            throw Refusal("\(refusal); for a required guard give --required \(hold)")
        }
        _ = try reply.accepted()
        if self.options.json { try StandardOutput.offer(reply.text) }
    }
}
