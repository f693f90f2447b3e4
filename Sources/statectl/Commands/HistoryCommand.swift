import ArgumentParser
import StateMachineClient
import StateMachineCore

struct HistoryCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show past changes, the newest first.",
        usage: """
            statectl history [PATTERN …] [-n N] [-f] [--since WHEN] [--until WHEN] [--by WHO] [--cause TEXT] \
            [--oldest-first] [--stays] [--format TEXT]
            """,
        discussion: """
            WHEN is a time (22:40, 2026-11-20, "2026-11-20 22:40:05", today, yesterday), a time ago (30s, 1h, 2d), \
            the number of a change, or a cursor. A time of day is the last one that has passed. --since begins with \
            that moment, or after that change; --until ends before it. WHO is the name or number of a user, or else \
            a command or a systemd unit, a user's unit with or without its manager.

            Examples:

              statectl history --since today
              statectl history dim bright -n 5 --stays
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var machines: SeveralMachines

    @OptionGroup var format: FormatOption

    @Argument(help: .value("pattern", "Only states that match one of these."))
    var patterns: [Pattern] = []

    @Option(
        name: [.customShort("n", allowingJoined: true), .long],
        help: .value("n", "At most this many, or all (default: 20 on a terminal, else 1000).")
    )
    var limit: ChangeCount?

    @Flag(name: .shortAndLong, help: "Show the newest last, and every change as it happens.")
    var follow = false

    @Option(help: .value("when", "Only the changes from then on."))
    var since: String?

    @Option(help: .value("when", "Only the changes before then."))
    var until: String?

    @Option(
        help: .value("who", "Only what this user did, by name or uid, or this command or service.")
    )
    var by: String?

    @Option(help: .value("text", "Only changes whose cause contains this text."))
    var cause: String?

    @Flag(help: "Show the oldest change first.")
    var oldestFirst = false

    @Flag(help: "Show each stay with how long it lasted, and not what was updated in it.")
    var stays = false

    func validate() throws {
        try self.format.check(beside: self.options)
        guard !self.follow || !self.stays else {
            throw ValidationError("-f shows changes as they happen; --stays does not go with it")
        }
        guard !self.follow || self.until == nil else {
            throw ValidationError("-f and --until exclude each other; give one")
        }
        guard !self.follow || !self.oldestFirst else {
            throw ValidationError("-f shows the newest last; --oldest-first does not go with it")
        }
        _ = try self.search()
        try OptionLimits.checkText("--cause", self.cause)
        try OptionLimits.checkText("--by", self.by)
    }

    func run() async throws {
        let search = try self.search()
        let count = self.limit ?? .atMost(StandardOutput.isTerminal ? 20 : 1000)
        let targets = try self.machines.targets(
            self.options,
            self.format,
            one: [(self.stays, "--stays")]
        )
        guard targets.count == 1 || !self.follow else {
            throw ValidationError("-f is about one machine; statectl watch follows several")
        }
        let runs = try await self.runs(of: targets, search)
        let order = self.oldestFirst ? Request.HistoryOrder.oldest : .newest
        if targets.count > 1 {
            var merge = HistoryMerge(runs, order: order)
            return try await merge.show(count)
        }
        for run in runs {
            if self.follow {
                try await run.follow(count)
            } else {
                try await run.show(count, order: order)
            }
        }
    }

    private func runs(
        of targets: [MachineTarget],
        _ search: ChangeSearch
    ) async throws -> [HistoryRun] {
        var runs: [HistoryRun] = []
        let columns = Columns(width: StandardOutput.columns)
        try await targets.each { target in
            var target = target
            target.columns = columns
            runs.append(
                HistoryRun(
                    client: try await target.client,
                    search: search,
                    target: target,
                    showsStays: self.stays
                )
            )
        }
        return runs
    }

    private func search() throws -> ChangeSearch {
        ChangeSearch(
            patterns: self.patterns,
            after: try self.place("--since", self.since),
            before: try self.place("--until", self.until),
            by: self.by.map(ChangeSearch.Actor.init(typed:)),
            cause: self.cause
        )
    }

    private func place(_ option: String, _ text: String?) throws -> HistoryPlace? {
        try TypedPlace.place(option, text, isUTC: self.options.utc)
    }
}

/// How many changes are shown.
enum ChangeCount: Equatable, ExpressibleByArgument {
    case atMost(UInt64)
    case all

    /// The most that are shown.
    var most: UInt64 { if case .atMost(let number) = self { number } else { .max } }

    /// Nil unless it is a number from 1 on, or `all`.
    init?(argument: String) {
        if argument == "all" {
            self = .all
        } else if let number = UInt64(argument), number > 0 {
            self = .atMost(number)
        } else {
            return nil
        }
    }
}

/// Which changes to look for.
struct ChangeSearch: Sendable {
    var patterns: [Pattern] = []
    var after: HistoryPlace?
    var before: HistoryPlace?
    var by: Actor?
    var cause: String?

    /// Who asked for a change.
    enum Actor: Sendable {
        case user(UInt32)
        case program(String)

        /// A uid, a user's name, or else a program's name.
        init(typed text: String) {
            if let uid = UInt32(text) ?? Users.uid(text) {
                self = .user(uid)
            } else {
                self = .program(text)
            }
        }

        var uid: UInt32? { if case .user(let uid) = self { uid } else { nil } }

        var program: String? { if case .program(let name) = self { name } else { nil } }
    }

    /// The request for the changes.
    func request(_ limit: UInt64, order: Request.HistoryOrder) -> Request {
        .history(
            limit: limit,
            only: self.patterns,
            order: order,
            after: self.after,
            before: self.before,
            by: self.by?.uid,
            program: self.by?.program,
            cause: self.cause
        )
    }

    /// Whether a change is wanted that matches the patterns and lies between the places.
    func wants(_ line: Line) -> Bool {
        switch self.by {
        case .user(let uid):
            guard line.by?.uid == uid else { return false }
        case .program(let name):
            guard line.by?.runs(name) == true else { return false }
        case nil: break
        }
        return self.cause.map { line.cause?.holds($0) ?? false } ?? true
    }
}
