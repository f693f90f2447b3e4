import ArgumentParser
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

struct GetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show the current state.",
        discussion: """
            With patterns, which need several machines, those are shown whose state is one of these. Exit codes: 0 one is, \
            1 none is, 69 one cannot be asked, 2 no machine has such a state.

            Examples:

              statectl get
              statectl get -m lamp --format "{state} since {at}"
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var format: FormatOption

    @OptionGroup var machines: SeveralMachines

    @Flag(
        help:
            "Where several hosts share the machine: the state that all have by now, or exit code 69."
    )
    var fresh = false

    @Argument(
        help: .value("pattern", "Of several machines those whose state matches one of these.")
    )
    var patterns: [Pattern] = []

    func validate() throws {
        try self.format.check(beside: self.options)
        guard self.patterns.isEmpty || self.machines.all || self.options.machine.count > 1 else {
            throw ValidationError(
                "a pattern chooses among several machines: statectl get --all PATTERN …; of one machine ask statectl is PATTERN …"
            )
        }
    }

    func run() async throws {
        var looks = SeveralLooks(patterns: self.patterns)
        var isAny = self.patterns.isEmpty
        var failure: ExitStatus?
        for target in try self.machines.targets(self.options, self.format) {
            let own = try await target.attempt {
                let client = try await target.client
                var line = try await client.accepted(self.fresh ? .getFresh : .get)
                if !self.patterns.isEmpty {
                    guard let reply = try await looks.look(at: target, client), reply.isOK == true
                    else { return }
                    isAny = true
                    // What was looked at is what is shown.
                    if reply.seq != line.seq { line = reply }
                }
                try target.print(line) { $0.report(line) }
            }
            failure = failure ?? own
        }
        if let failure { throw failure }
        try looks.check()
        if !isAny { throw ExitStatus.no }
    }
}

struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state, what you can do now, holds, guards, watchers.",
        discussion: """
            Shows the state, since when, who set it and why; what you can set and send now, and who or what is against the \
            rest; the holds and guards, and the states that they apply \
            to; the watchers, how many changes each is behind, with its command and service if they can be seen; \
            and what runs in the state and what failed last. Without a command, statectl shows this.

            Nobody is asked for that: a guard, or a hold that delays, may still be in the way, and so may the values of fields that \
            you give; "title=…" stands for one that is needed.

            What runs is read from the report of statemachine-runner; if there is no runner, or it has ended, the \
            text says so. What keeps the machine from what is due, or from changing at all, is said with the state. \
            With --json one object: state, data, seq, at, stay, due, by, cause, forced, trouble, suspended, overdue, possible, holds, guards, \
            watching, hosts, and runner, which is null or has pid, isThere, running, next, lastFailure, left and commands.

            Examples:

              statectl status
              statectl status -m lamp --json
            """
    )

    @OptionGroup var options: SharedOptions

    func run() async throws { try await Self.show(self.options) }

    /// Shows the status.
    static func show(_ options: SharedOptions) async throws {
        let client = try options.client
        var status = try await MachineStatus(of: client, withPossible: true)
        if !options.json, status.state.stay != nil {
            status.describe(try await client.reply(to: .describe))
        }
        if status.stats["engine"] != nil { status.hosts = try await client.reply(to: .hosts) }
        try StandardOutput.offer(
            options.json
                ? status.object.description : options.text.status(status)
        )
    }
}

/// What there is to know of a machine at a moment.
struct MachineStatus {
    /// The answer to `get`.
    let state: Line
    /// The answer to `stats`.
    let stats: Line
    var runner: RunnerState?
    /// Whether the control door is not open to this user, so that it is not said what can be done.
    var isReader = false
    /// The answer to `hosts`, of a machine that several hosts share.
    var hosts: Line?
    /// The machine's name in its file, as far as that has been looked up.
    private(set) var machine: String?
    /// Whether the machine has commands for a runner, as far as that has been looked up.
    private(set) var hasCommands = false

    /// The marks of states that have one, as far as that has been looked up.
    private(set) var marks: [String: StateMark] = [:]

    /// What the machine's file says of the present state.
    var mark: StateMark? { self.state.state.flatMap { self.marks[$0.name] } }

    /// Takes the answer to `describe`.
    mutating func describe(_ description: Line?) {
        self.machine = description?["machine"]?.string
        let states = description?["states"]?.elements ?? []
        self.hasCommands = states.contains { state in
            state["run"]?.bool == true || state["hooks"]?.bool == true
        }
        self.marks = Dictionary(
            states.compactMap { state in
                let mark = state["mark"]?.string.flatMap { StateMark(rawValue: $0) }
                guard let name = state["state"]?.string, let mark else { return nil }
                return (name, mark)
            }
        ) { first, _ in first }
    }

    /// The rows of the connections that watch.
    var watching: [JSONValue] {
        (self.stats["connections"]?.elements ?? []).filter { ($0["watches"]?.integer ?? 0) > 0 }
    }

    var links: [JSONValue] { self.stats["links"]?.elements ?? [] }

    var holds: [JSONValue] { self.stats["holds"]?.elements ?? [] }

    var guards: [JSONValue] { self.stats["guards"]?.elements ?? [] }

    /// The whole status as JSON.
    var object: JSONValue {
        let keys = [
            "state", "data", "seq", "at", "stay", "due", "by", "cause", "forced", "ageMs", "stayMs",
            "staleMs", "trouble", "suspended", "overdue", "possible",
        ]
        return .object(
            self.state.members(keys)
                + (self.links.isEmpty ? [] : [JSONMember("links", .array(self.links))]) + [
                    JSONMember("holds", .array(self.holds)),
                    JSONMember("guards", .array(self.guards)),
                    JSONMember("watching", .array(self.watching)),
                ]
                + (self.hosts?["hosts"].map { [JSONMember("hosts", $0)] } ?? []) + [
                    JSONMember("runner", self.runner?.object ?? .null)
                ]
        )
    }
}

extension MachineStatus {
    /// Asks the daemon, if so also what can be done now, and looks whether there is a runner beside it.
    init(
        of client: Client,
        withPossible: Bool = false,
        within limit: Duration = Client.answerLimit
    ) async throws {
        var state = try await client.reply(to: withPossible ? .getPossible : .get, within: limit)
        let isReader = withPossible && state.error == .forbidden
        // A daemon of before does not know what can be done.
        if withPossible, state.isOK == false {
            state = try await client.reply(to: .get, within: limit)
        }
        self.init(
            state: try state.accepted(),
            stats: try await client.accepted(.stats, within: limit),
            runner: RunnerState(in: client.directory),
            isReader: isReader
        )
    }
}

extension RunnerState {
    /// What the runner's file says, and whether the runner is still there.
    fileprivate var object: JSONValue {
        let members = self.json.members ?? []
        return .object(
            members.prefix(1) + [JSONMember("isThere", .bool(self.isThere))]
                + members.dropFirst().filter { $0.key != "start" }
        )
    }
}

struct MachinesCommand: DaemonCommand {
    /// How long a daemon that does not answer may keep the list waiting.
    private static let timeout = Duration.seconds(2)

    static let configuration = CommandConfiguration(
        commandName: "machines",
        abstract: "List the machines, with their states.",
        discussion: """
            Looks into $STATEMACHINE_RUNTIME_DIRECTORY, /run/statemachine and $XDG_RUNTIME_DIR/statemachine, and into \
            the directories in them, one for each instance. With --json a line for each machine: instance, directory, \
            machine, state, data, seq and at, or error. Exit codes: 0 at least one answers, 69 none does.

            With patterns, only those are listed whose state is one of these; a machine that has no such state is in none. \
            Exit codes: 0 one is, 1 none is, 2 no machine has such a state, 69 none answers.

            Examples:

              statectl machines dim
              statectl machines --json
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: .value("pattern", "Only machines whose state matches one of these."))
    var patterns: [Pattern] = []

    func validate() throws {
        guard self.options.runtimeDirectory == nil, self.options.machine.isEmpty else {
            throw ValidationError("machines lists all machines; use statectl get to show one")
        }
    }

    func run() async throws {
        let instances = Instance.all()
        guard !instances.isEmpty else {
            throw Refusal(
                "no machine found in \(Instance.directories.joined(separator: " and ").printable); "
                    + "is a service running? systemctl status 'statemachine*'",
                .unreachable
            )
        }
        var rows = await instances.concurrentlyMapped(Self.row)
        let isAnswered = rows.contains { $0.report != nil }
        if !self.patterns.isEmpty { rows = try await self.selected(rows) }
        if self.options.json {
            for row in rows { try StandardOutput.offer(row.object.description) }
        } else if !rows.isEmpty {
            try StandardOutput.offer(self.options.text.machines(rows))
        }
        guard isAnswered else { throw ExitStatus.unreachable }
        guard !rows.isEmpty else { throw ExitStatus.no }
    }

    /// Those rows whose machines are in one of the states; one that does not answer is said to be so.
    private func selected(_ rows: [MachineRow]) async throws -> [MachineRow] {
        var looks = SeveralLooks(patterns: self.patterns)
        var selected: [MachineRow] = []
        for var row in rows {
            let name = row.instance.name?.printable ?? MachineMark.unnamed
            guard let report = row.report else {
                StandardError.say("\(name): \(row.error?.printable ?? "it does not answer")")
                continue
            }
            do {
                guard let reply = try await looks.look(Client(row.instance.directory)),
                    reply.isOK == true
                else { continue }
                if reply.seq != report.seq { row.report = reply }
                selected.append(row)
            } catch let error as ClientError {
                if case .refused = error { throw error }
                StandardError.say("\(name): \(error.description.printable)")
            }
        }
        try looks.check()
        return selected
    }

    @Sendable private static func row(of instance: Instance) async -> MachineRow {
        let client = Client(instance.directory)
        do {
            let report = try await client.accepted(.get, within: Self.timeout)
            let description = try await client.accepted(.describe, within: Self.timeout)
            let machine = description["machine"]?.string
            return MachineRow(instance: instance, machine: machine, report: report)
        } catch {
            return MachineRow(instance: instance, error: "\(error)")
        }
    }
}

/// What is known of one instance.
struct MachineRow {
    let instance: Instance
    /// The machine's name in its file.
    var machine: String?
    /// The answer to `get`; nil if there is none.
    var report: Line?
    /// Why there is none.
    var error: String?

    var object: JSONValue {
        var members = [
            JSONMember("instance", self.instance.name.map { .string($0) } ?? .null),
            JSONMember("directory", .string(self.instance.directory.path)),
        ]
        if let machine { members.append(JSONMember("machine", .string(machine))) }
        let keys = [
            "state", "data", "seq", "at", "stay", "due", "trouble", "suspended", "overdue",
        ]
        members += self.report?.members(keys) ?? []
        if let error { members.append(JSONMember("error", .string(error))) }
        return .object(members)
    }
}

struct DescribeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Show the states, what may follow what, and events.",
        discussion: """
            Each state with its fields, what events do in it, and what time does; then the events with their fields, and the \
            groups. "statectl graph" draws the same. With --json the daemon's answer as it is, limits included.

            Examples:

              statectl describe
              statectl describe --limits
            """
    )

    @OptionGroup var options: SharedOptions

    @Flag(help: "Show the daemon's operations and limits too.")
    var limits = false

    func run() async throws {
        let reply = try await self.options.client.accepted(.describe)
        try self.options.print(reply) {
            DescriptionText(style: $0.style).text(reply, withLimits: self.limits).folded(
                to: $0.width
            )
        }
    }
}

struct StatsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show the connections and the daemon's counters.",
        discussion: """
            Examples:

              statectl stats
              statectl stats --prometheus
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var machines: SeveralMachines

    @Flag(
        help: ArgumentHelp(
            "Print the state and the counters in Prometheus's text format 0.0.4.",
            discussion:
                "For a textfile collector; statemachine-web serves the same of all machines as /metrics."
        )
    )
    var prometheus = false

    func validate() throws {
        guard !(self.prometheus && self.options.json) else {
            throw ValidationError("--prometheus and --json cannot be used together; give one")
        }
    }

    func run() async throws {
        let one = [(self.prometheus, "--prometheus")]
        try await self.machines.targets(self.options, one: one).each { target in
            let client = try await target.client
            if self.prometheus {
                let sample = try await PrometheusText.Sample(of: client, held: DrawingBar.held)
                try StandardOutput.offer(PrometheusText.text([sample]))
            } else {
                let reply = try await client.accepted(.stats)
                try target.print(reply) { $0.stats(reply) }
            }
        }
    }
}

struct HostsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "hosts",
        abstract: "List the hosts that share the machine.",
        discussion: """
            Of a machine that several hosts share by etcd: each host that is there, its program's version, the number of the \
            change that it has come to, by how many it is behind this one, its session, and how far its clock is ahead of \
            this host's. A remark says which host's file differs from this one's. With --json the daemon's answer: hosts, each \
            with host, here, version, up, seq, lag, session, form, declaration, boot and offset in milliseconds.

            Examples:

              statectl hosts
              statectl hosts && statectl get --fresh
            """
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let reply = try await self.options.client.accepted(.hosts)
        try self.options.print(reply) { $0.hosts(reply) }
    }
}

struct PingCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Check that the daemon answers.",
        discussion: """
            Shows how long connecting and the answer took.

            Examples:

              statectl ping
              statectl ping && echo "it answers"
            """
    )

    @OptionGroup var options: SharedOptions

    @Flag(
        help:
            "Where several hosts share the machine: ask a quorum of the engine too, as a set does."
    )
    var fresh = false

    func run() async throws {
        let client = try self.options.client
        let clock = ContinuousClock()
        let began = clock.now
        let reply = try await client.accepted(self.fresh ? .getFresh : .ping)
        let took = began.duration(to: clock.now)
        try self.options.print(reply) { $0.answer(reply, after: took) }
    }
}
