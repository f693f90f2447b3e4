public import ArgumentParser
import Glibc
import Processes
public import StateMachineClient
import StateMachineCore

struct HoldCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Keep states from being entered, for a while.",
        usage: """
            statectl hold --before PATTERN … [--when PATTERN …] [--when-not PATTERN …] [--within TIME] [--wait] \
            [--mode block|delay [--max TIME]] [--why TEXT] [-- COMMAND …]
            statectl hold --before PATTERN … --as NAME --until WHEN|--max TIME [--wait] [--why TEXT]
            statectl hold --before PATTERN … --as NAME --until WHEN --mode delay [--max TIME] [--wait] [--why TEXT]
            """,
        discussion: """
            A pattern with values (closed:armed=true, 'playing:volume>80') also stops an update that would make it match. \
            What matches already may stay as it is.

            Ends with the command's exit code, or 128 and the signal's number. Without a command \
            the hold lasts until this is interrupted. SIGTERM, SIGHUP and other signals that would end it are passed \
            on to the command, and the hold lasts until that has ended; SIGINT and SIGQUIT are left to the command, \
            which gets them from the terminal too. If the daemon is lost meanwhile, the command continues, and the hold \
            is taken again; until then a daemon with a history denies the states for up to ten seconds.

            If statectl itself is killed, by SIGKILL too, the command gets SIGTERM, and after ten seconds SIGKILL, and so \
            do the processes that it has started; the hold lasts until they have ended. A process that has begun a \
            session of its own (setsid, a daemon) is left alone, and nothing waits for it.

            With --when and --when-not the hold is taken first, and the command begins when the state is one of the first \
            and none of the second, so the held states cannot be entered in between. With --within it gives up after that time, \
            gives the hold back, runs nothing and ends with exit code 124; the state is checked at least once. With \
            --wait it also waits for a daemon that is not there.

            With --as the hold belongs to the user, and statectl ends at once: it outlives logout, a restart and a power cut, \
            until WHEN (18:00, "mon 9:00", tomorrow, "2026-12-01 09:00") or for --max TIME, or until "statectl release NAME". \
            Taking it again under the same name renews it.

            --max means two things. With --mode delay it says how long a set waits for the hold before it is made: at \
            most 60s, and 1s if it is left out. Otherwise it says how long a hold with --as lasts, in place of --until.

            Examples:

              statectl hold --before dark --why "a film" -- play film.mp4
              statectl hold --before dark --as reading --until tomorrow
            """
    )

    @OptionGroup var options: SharedOptions

    @Option(parsing: .upToNextOption, help: .value("pattern", "States that must not be entered."))
    var before: [Pattern] = []

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "Once the hold is taken, wait for one of these states.")
    )
    var when: [Pattern] = []

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "Once the hold is taken, wait until the state is none of these.")
    )
    var whenNot: [Pattern] = []

    @Option(
        help: .value(
            "time",
            "With --when, --when-not or --wait: give up after this time, with exit code 124."
        )
    )
    var within: Seconds?

    @Option(help: "Whether a set is refused or has to wait (default: block).")
    var mode: Request.HoldMode?

    @Option(
        help: .value(
            "time",
            "With --mode delay: how long a set waits (default: 1s). With --as and without --mode delay: how long the hold lasts."
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

    @Option(help: .value("text", "The reason, shown to whoever is refused."))
    var why: String?

    @Flag(help: "Wait for the daemon if it is not there at the start.")
    var wait = false

    @Flag(help: "Say on standard error when the hold is taken, also where that is not a terminal.")
    var verbose = false

    @Argument(parsing: .postTerminator, help: .value("command", "The command to run meanwhile."))
    var command: [String] = []

    func validate() throws {
        guard !self.before.isEmpty else {
            throw ValidationError("name the states: statectl hold --before PATTERN … -- COMMAND …")
        }
        guard self.name == nil else { return try self.validateLasting() }
        try demand(self.until == nil, "--until needs --as NAME")
        guard self.max == nil || self.mode == .delay else {
            throw ValidationError(
                "--max needs --mode delay (how long a set waits) or --as NAME (how long the hold lasts)"
            )
        }
        guard self.within == nil || self.isConditional || self.wait && !self.command.isEmpty else {
            throw ValidationError(
                "--within can be used only with --when, --when-not or --wait, and a command"
            )
        }
        try OptionLimits.checkExceptions("--when-not", self.whenNot, instead: "--when")
        try OptionLimits.checkVote("--max", self.max)
        try OptionLimits.checkText("--why", self.why)
        guard !self.isConditional || !self.command.isEmpty else {
            let option = self.when.isEmpty ? "--when-not" : "--when"
            throw ValidationError(
                "\(option) needs a command: statectl hold --before PATTERN … \(option) PATTERN … -- COMMAND …"
            )
        }
    }

    /// Whether the command waits for a state.
    private var isConditional: Bool { !self.when.isEmpty || !self.whenNot.isEmpty }

    /// The same for a hold that outlives this command.
    private func validateLasting() throws {
        try OptionLimits.checkName("--as", self.name)
        guard self.name?.allSatisfy(\.isNumber) != true else {
            throw ValidationError(
                "--as must not be digits alone, which would be the number of a hold"
            )
        }
        guard self.command.isEmpty, !self.isConditional, self.within == nil else {
            throw ValidationError(
                "--as takes a hold that outlives statectl, and cannot be used with a command"
            )
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
                let typed = TypedPosition(now: .now, isUTC: self.options.utc)
                guard let end = typed.next(text) else {
                    throw ValidationError(
                        "--until is not a time: \(text.quoted); write \(TypedPosition.endExample)"
                    )
                }
                try demand(
                    end > typed.now,
                    "--until must be later than now, not \(text.quoted); write \(TypedPosition.endExample)"
                )
                time = .microseconds(end.microseconds - typed.now.microseconds)
            case (_?, _?):
                throw ValidationError("--until and --max cannot be used together; give one")
            case (nil, nil):
                throw ValidationError(
                    "a hold with --as needs an end: statectl hold --before PATTERN … --as NAME --until WHEN, or --max TIME"
                )
            }
            try demand(time <= longest, "a hold may last at most 400 days")
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
        if self.wait {
            var forever: Duration?
            try await self.options.client(isPatient: true, within: &forever).arrival()
        }
        let reply = try await self.options.answer(
            to: request,
            doubt: "the hold may or may not be taken: statectl status"
        )
        .accepted()
        let end = WallTime(microseconds: WallTime.now.microseconds + time.wholeMicroseconds)
        try self.options.print(reply) { text in
            "hold \(reply.hold.map(String.init) ?? "?") is taken as \(name), until \(text.second(end) ?? "?")"
        }
    }

    /// What happens while the hold lasts.
    private var purpose: String {
        let states = self.before.map(\.text).joined(separator: ", ").printable
        let fate = self.mode == .delay ? "wait" : "are refused"
        let end = self.command.first.map { "\($0.printable) ends" } ?? "statectl is interrupted"
        return "changes to \(states) \(fate) until \(end)"
    }

    func run() async throws {
        if let name { return try await self.take(as: name) }
        var left = self.within?.duration
        let client = try await self.options.client(isPatient: self.wait, within: &left)
        var hold = client.hold(
            before: self.before,
            mode: self.mode ?? .block,
            limit: self.max?.duration,
            why: self.why
        )
        hold.isPatient = self.wait
        var run = HoldRun(hold: hold, purpose: self.purpose)
        if self.verbose || StandardError.isTerminal { run.report = StandardError.say }
        if self.isConditional {
            run.condition = HoldCondition(client: client, when: self.when, whenNot: self.whenNot)
        }
        run.limit = left
        guard var command = ChildCommand(bytes: ArgumentWords.last(self.command.count)) else {
            return try await run.keep()
        }
        try command.check()
        command.directory = client.directory
        let ending = try await run.keep(during: command)
        switch ending {
        case .exited, .signalled: break
        case .notFound, .notStarted, .left:
            if let complaint = ending.complaint(about: command) { run.complain(complaint) }
        }
        throw ProcessEnd.status(ending.status)
    }
}

extension Request.HoldMode: ExpressibleByArgument {}

/// A hold and what is done while it lasts.
struct HoldRun: Sendable {
    let hold: Hold
    /// What to wait for, once the hold is taken, before the command is run.
    var condition: HoldCondition?
    /// How long the hold and the condition may take; nil means for ever.
    var limit: Duration?
    /// What the hold is for, in words.
    var purpose: String?
    /// Called with what goes right.
    var report: @Sendable (String) -> Void = { _ in }
    /// Called with what goes wrong.
    var complain: @Sendable (String) -> Void = StandardError.say

    /// Why the command is not run where the hold alone was waited for.
    private static let timeUp = Refusal(
        "the hold was not taken in time; the command is not run",
        .timeout
    )

    /// Keeps the hold until the task is cancelled.
    func keep() async throws { try await self.keep(self.hold) { _ in } }

    /// Takes the hold, runs the command, and gives the hold back.
    ///
    /// - Returns: how the command ended.
    /// - Throws: why there was no hold to begin with; the command is not run then.
    func keep(during command: ChildCommand) async throws -> ChildCommand.Ending {
        let (taken, take) = AsyncStream.makeStream(of: Void.self)
        // Whether the hold is in force.
        let force = SharedFlag()
        let lifeline = HoldLifeline()
        let hold = lifeline.following(self.hold)
        let end = self.limit.map { ContinuousClock.now.advanced(by: $0) }
        return try await Race.run(
            {
                var isTaken = false
                while true {
                    do {
                        try await self.keep(hold) { isInForce in
                            force.set(isInForce)
                            guard isInForce else { return }
                            await lifeline.renew()
                            isTaken = true
                            take.finish()
                        }
                    } catch ClientError.silent where !isTaken && end != nil {
                        // The time that was given is what ends it.
                        continue
                    } catch let error as ClientError where isTaken {
                        self.complain("\(error.description.printable); continuing without the hold")
                    }
                    // The command is what ends it.
                    while true { try await QuietClock().sleep(for: .seconds(1_000_000)) }
                }
            },
            {
                // A daemon that has not answered a little after that time is not waited for.
                let time = self.limit.map { $0 + Client.lateness }
                let condition: Race.Entry<Void> = {
                    for await _ in taken {}
                    try Task.checkCancellation()
                    try await self.condition?.wait(until: end, report: self.report) { force.isSet }
                }
                try await Race.run([condition], within: time) {
                    throw self.condition == nil ? Self.timeUp : HoldCondition.timeUp
                }
                return await Self.runPassingOnSignals(command, lifeline)
            }
        )
    }

    /// Keeps the hold, and reports when it comes into force and when it no longer is.
    private func keep(
        _ hold: Hold,
        _ changed: (_ isInForce: Bool) async -> Void
    ) async throws {
        var isAnew = false
        for try await event in hold {
            switch event {
            case .taken(let number):
                if isAnew {
                    // Said once the command's keeper has the connection, too.
                    await changed(true)
                    self.complain("connected; hold \(number) is taken again")
                } else {
                    let purpose = self.purpose.map { "; \($0)" } ?? ""
                    self.report("hold \(number) is taken\(purpose)")
                    await changed(true)
                }
                isAnew = true
            case .interrupted(let error, let attempt, _):
                await changed(false)
                guard attempt == 1 else { continue }
                self.complain(isAnew ? error.reconnecting : error.awaiting)
            }
        }
    }

    private static func runPassingOnSignals(
        _ command: ChildCommand,
        _ lifeline: HoldLifeline
    ) async -> ChildCommand.Ending {
        // What a terminal sends to the command as well is caught and dropped; all else is passed on. Whatever
        // comes, the hold lasts until the command has ended.
        let signals = Signals.stream(Signals.ofTerminals + Signals.passedOn)
        var passing: Task<Void, Never>?
        defer { passing?.cancel() }
        return await command.run(keeping: lifeline.descriptor) { process in
            lifeline.attach(process)
            passing = Task(executorPreference: QueueExecutor.shared) {
                for await number in signals where !Signals.ofTerminals.contains(number) {
                    process.send(number)
                }
            }
        }
    }
}

/// The connection of a hold, which the keeper of its command has as well: if this process is killed, the hold lasts
/// until nothing is left of the command.
///
/// Guarded state: all of it, behind its lock.
private final class HoldLifeline: Sendable {
    private struct State {
        var connection: Connection?
        var descriptor: CInt?
        var command: KeptCommand?
    }

    private let state = Lock(State())

    deinit { self.state.withLock { if let descriptor = $0.descriptor { close(descriptor) } } }

    /// Its socket, for a keeper that is about to begin.
    var descriptor: CInt? { self.state.withLock { $0.descriptor } }

    /// The same hold, whose connection is noted each time that it is taken.
    func following(_ hold: Hold) -> Hold {
        var hold = hold
        hold.taken = { connection in self.state.withLock { $0.connection = connection } }
        return hold
    }

    /// Has the keeper keep that connection from now on.
    func renew() async {
        guard let new = await self.state.withLock({ $0.connection })?.duplicate() else { return }
        let (old, command) = self.state.withLock { state in
            (exchange(&state.descriptor, with: new), state.command)
        }
        command?.keep(new)
        if let old { close(old) }
    }

    /// Notes whose keeper it is; the hold may have been taken again while that began.
    func attach(_ command: KeptCommand) {
        let descriptor = self.state.withLock { state in
            state.command = command
            return state.descriptor
        }
        if let descriptor { command.keep(descriptor) }
    }
}

/// What the state has to be, under a hold, before a command is run.
struct HoldCondition: Sendable {
    /// How often to check whether a lost hold is there again.
    ///
    /// 100 ms: taking it again begins with such a pause. Not tuned.
    private static let pause = Duration.milliseconds(100)

    let client: Client
    /// The patterns that the state must match, if there are any.
    var when: [Pattern] = []
    /// The patterns that it must not match.
    var whenNot: [Pattern] = []

    /// What `wait` waits for.
    private var patterns: [Pattern] { self.when + self.whenNot.map(!) }

    /// The condition in words: `idle or ready, and not busy`.
    var text: String {
        let no = self.whenNot.map { "not \($0.text)" }.joined(separator: " and ")
        return [self.when.map(\.text).joined(separator: " or "), no].filter { !$0.isEmpty }
            .joined(separator: ", and ").printable
    }

    /// Why the command is not run.
    static let timeUp = Refusal("the state did not match in time; the command is not run", .timeout)

    /// Returns when the state is as it has to be, at a moment when the hold was in force.
    ///
    /// The state is looked at once however little time there is.
    ///
    /// - Throws: ``timeUp``, ``ClientError``, or `CancellationError`.
    func wait(
        until end: ContinuousClock.Instant?,
        report: (String) -> Void,
        isHeld: () -> Bool
    ) async throws {
        var isFirst = true
        while true {
            if isHeld(), try await self.isMet(), isHeld() { return }
            let left = end.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
            guard left != .zero else { throw Self.timeUp }
            if exchange(&isFirst, with: false) { report("waiting until the state is \(self.text)") }
            do {
                let reply = try await self.client.wait(
                    until: self.patterns,
                    timeout: left,
                    isPatient: true
                )
                guard reply.error != .timeout else { throw Self.timeUp }
                guard reply.isOK == true else { throw ClientError.refused(reply) }
            } catch ClientError.lostForGood {
                // Whoever keeps the hold says that the daemon is gone, and tries for ever.
            } catch ClientError.timedOut {
                throw Self.timeUp
            }
            if !isHeld() { try await QuietClock().sleep(for: Self.pause) }
        }
    }

    /// Whether the state is so now; false if nobody can be asked.
    private func isMet() async throws -> Bool {
        do {
            return try await self.client.look(for: self.patterns).isOK == true
        } catch let error as ClientError {
            guard case .refused = error else { return false }
            throw error
        }
    }
}
