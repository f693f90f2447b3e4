import ArgumentParser
import StateMachineClient
import StateMachineCore

struct WaitCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until a state is reached.",
        usage: """
            statectl wait PATTERN … [--fail PATTERN …] [--for TIME] [--timeout TIME] [--since CURSOR] [--no-wait]
            """,
        discussion: """
            Waits for the daemon too if it is not running, and continues by itself when it restarts. With --for it \
            ends when the states have lasted that long without a break; the time that the current state has already \
            lasted counts.

            Examples:

              statectl wait 'dim:level>=20' bright --timeout 5min
              statectl wait dim bright --for 2s && echo "lit for two seconds"
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var format: FormatOption

    @Argument(help: .value("pattern", "States to wait for."))
    var patterns: [Pattern] = []

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "States that end the wait with exit code 1.")
    )
    var fail: [Pattern] = []

    @Option(help: .value("time", "Give up after this time, with exit code 124."))
    var timeout: Seconds?

    @Option(help: .value("cursor", "Take the changes after this cursor into account."))
    var since: String?

    @Option(
        name: .customLong("for"),
        help: .value("time", "Wait until the states have lasted this long, without a break.")
    )
    var span: Seconds?

    @Flag(help: "End, with exit code 69, if the daemon is not there at the start.")
    var noWait = false

    func validate() throws {
        try self.format.check(beside: self.options)
        guard !self.patterns.isEmpty else {
            throw ValidationError(
                "name the states to wait for: statectl wait PATTERN … [--fail PATTERN …]"
            )
        }
        try OptionLimits.checkCursor("--since", self.since)
        guard self.span == nil || self.since == nil else {
            throw ValidationError("--for is about the state from now on; leave --since out")
        }
    }

    func run() async throws {
        let isPatient = !self.noWait && self.timeout?.duration != .zero
        var left = self.timeout?.duration
        let client = try await self.options.client(isPatient: isPatient, within: &left)
        let target = MachineTarget(options: self.options, format: try self.format.parsed)
        try await target.format?.check(client)
        if let span = self.span?.duration {
            let lasted = try await self.lasted(span, client, within: left, isPatient: isPatient)
            return try target.print(lasted) { $0.report(lasted) }
        }
        let reply = try await client.wait(
            until: self.patterns,
            fail: self.fail,
            since: self.since,
            timeout: left,
            isPatient: isPatient,
            interrupted: { error, attempt, _ in
                guard attempt == 1 else { return }
                // A daemon unreachable at the first attempt has not been there yet.
                let isAwaited = if case .unreachable = error { true } else { false }
                let trouble = isAwaited ? error.awaiting : error.reconnecting
                StandardError.say(trouble)
            },
            reconnected: { StandardError.say("connected") }
        )
        try target.print(try reply.accepted()) { $0.report(reply) }
    }
}

struct IsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "is",
        abstract: "Check whether the state is one of these.",
        discussion: """
            Shows the current state; the exit code is 0 for yes and 1 for no. With --for it is yes only if one of \
            these states has lasted that long without a break, as far back as the daemon keeps changes.

            With --all, or several machines, it is yes if each of them is in one of these states. A machine that has no such \
            state is in none. Exit codes: 0 each is, 1 one is not, 69 one cannot be asked and the others are, 2 no machine \
            has such a state. Whether any of them is: statectl machines PATTERN.

            Examples:

              statectl is dark dim
              statectl is -q bright || echo "not bright"
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var machines: SeveralMachines

    @Argument(help: .value("pattern", "States to compare with."))
    var patterns: [Pattern]

    @Flag(name: .shortAndLong, help: "Show nothing; the exit code is the answer.")
    var quiet = false

    @Option(
        name: .customLong("for"),
        help: .value("time", "Whether the state has lasted this long.")
    )
    var span: Seconds?

    func run() async throws {
        var isYes = true
        var failure: ExitStatus?
        var looks = SeveralLooks(patterns: self.patterns)
        var found: [(target: MachineTarget, line: Line)] = []
        for target in try self.machines.targets(self.options) {
            let own = try await target.attempt {
                let client = try await target.client
                let reply = try await looks.look(at: target, client)
                var isHere = reply?.isOK == true
                if isHere, let reply, let span = self.span?.duration {
                    let age = try await client.age(of: reply)
                    isHere = try await client.hasLasted(
                        reply,
                        in: self.patterns,
                        for: span,
                        age: age
                    )
                }
                if !isHere { isYes = false }
                guard !self.quiet else { return }
                let line: Line
                if let reply { line = reply } else { line = try await client.accepted(.get) }
                found.append((target, line))
            }
            failure = failure ?? own
        }
        try looks.check()
        for (target, line) in found { try target.print(line) { $0.report(line) } }
        if !isYes { throw ExitStatus.no }
        if let failure { throw failure }
    }
}

/// Looks whether several machines are in one of some states, of which not each machine needs to have all.
struct SeveralLooks {
    let patterns: [Pattern]
    /// Whether a machine knows the states.
    private var isKnown = false
    /// The first refusal of one that does not.
    private var refusal: Line?

    init(patterns: [Pattern]) { self.patterns = patterns }

    /// The daemon's answer; nil if its machine is one of several and does not have such states.
    mutating func look(at target: MachineTarget, _ client: Client) async throws -> Line? {
        try await self.look(isOneOfSeveral: target.mark != nil, client)
    }

    /// The same of a machine that `isOneOfSeveral`.
    mutating func look(isOneOfSeveral: Bool = true, _ client: Client) async throws -> Line? {
        do {
            let reply = try await client.look(for: self.patterns)
            self.isKnown = true
            return reply
        } catch ClientError.refused(let reply)
            where isOneOfSeveral && [.unknownState, .badData].contains(reply.error)
        {
            self.refusal = self.refusal ?? reply
            return nil
        }
    }

    /// Throws if no machine that answered has such states.
    func check() throws {
        if !self.isKnown, let refusal { throw ClientError.refused(refusal) }
    }
}

extension Client {
    /// The reply that says whether the state is one of those now: the daemon evaluates, and tells a misspelt state from a
    /// no.
    func look(for patterns: [Pattern]) async throws -> Line {
        let reply = try await self.reply(to: .wait(until: patterns, timeout: .zero))
        return reply.error == .timeout ? reply : try reply.accepted()
    }
}
