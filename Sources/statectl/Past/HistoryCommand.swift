import ArgumentParser
import Processes
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

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
            a command or a systemd unit; a user's unit may be named with or without its manager.

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
        let others = [
            (self.stays, "--stays"), (self.until != nil, "--until"),
            (self.oldestFirst, "--oldest-first"),
        ]
        if self.follow, let other = others.first(where: \.0)?.1 {
            throw ValidationError("-f and \(other) cannot be used together; give one")
        }
        _ = try self.search()
        try OptionLimits.checkText("--cause", self.cause)
        try OptionLimits.checkText("--by", self.by)
    }

    func run() async throws {
        let search = try self.search()
        let count = self.limit?.most ?? (StandardOutput.isTerminal ? 20 : 1000)
        let targets = try self.machines.targets(
            self.options,
            self.format,
            one: [(self.stays, "--stays")]
        )
        guard targets.count == 1 || !self.follow else {
            throw ValidationError("-f follows one machine; statectl watch follows several")
        }
        var runs = try await self.runs(of: targets, search)
        if targets.count > 1 { return try await runs.show(count) }
        for run in runs { try await self.follow ? run.follow(count) : run.show(count) }
    }

    private func runs(
        of targets: [MachineTarget],
        _ search: HistoryCall
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

    private func search() throws -> HistoryCall {
        var call = HistoryCall.all
        call.only = self.patterns.isEmpty ? nil : PatternList(self.patterns)
        call.order = self.oldestFirst ? .oldest : .newest
        call.after = try self.place("--since", self.since)
        call.before = try self.place("--until", self.until)
        call.by = self.by.map { name in
            (UInt32(name) ?? Account(named: name)?.uid).map { .user($0) } ?? .program(name)
        }
        call.cause = self.cause
        return call
    }

    private func place(_ option: String, _ text: String?) throws -> HistoryPlace? {
        try TypedPlace.place(option, text, isUTC: self.options.utc)
    }
}

/// How many changes are shown: a number from 1 on, or all.
struct ChangeCount: ExpressibleByArgument {
    let most: UInt64

    init?(argument: String) {
        guard let most = argument == "all" ? .max : UInt64(argument), most > 0 else { return nil }
        self.most = most
    }
}

extension HistoryCall {
    /// Whether a change is wanted that matches the patterns and lies between the places.
    fileprivate func wants(_ line: Line) -> Bool {
        switch self.by {
        case .user(let uid): if line.by?.uid != uid { return false }
        case .program(let name): if line.by?.runs(name) != true { return false }
        case nil: break
        }
        return self.cause.map { line.cause?.holds($0) ?? false } ?? true
    }
}

/// Shows old changes, one page after the other.
struct HistoryRun: Sendable {
    let client: Client
    /// What is looked for; it moves on behind what was found.
    var search: HistoryCall
    let target: MachineTarget
    /// Whether to show the stays, each with its length, and not every change.
    var showsStays = false

    /// Where several machines are shown: what was found and is still to be shown, and the reply that ended it.
    fileprivate(set) var found: ArraySlice<Line> = []
    fileprivate(set) var reply: Line?

    /// The most changes that the daemon shows at once.
    private static let page = RequestLimits.historyChanges

    /// Shows the changes, at most that many, and says what is missing.
    func show(_ most: UInt64) async throws {
        var (last, shown): (String?, UInt64) = (nil, 0)
        // On a terminal the changes themselves show how far it has come.
        let progress = Progress(
            "writing",
            isShown: StandardError.isTerminal && !StandardOutput.isTerminal
        )
        defer { progress.end() }
        func take(_ line: Line) throws {
            last = line.cursor
            try self.target.show(line)
            shown += 1
            progress.show(shown, of: most == .max ? nil : most)
        }
        var rest = self
        let reply =
            self.showsStays
            ? try await rest.showStays(most, take)
            : try await rest.changes(most, take)
        progress.end()
        if last == nil, case .program(let name)? = self.search.by {
            StandardError.say(
                "there is no user \(name.quoted.printable), and no command or unit of that name has made such a change"
            )
        } else if last == nil, StandardOutput.isTerminal {
            StandardError.say("no change matches")
        }
        let end = self.target.options.text.end(
            ofHistory: reply,
            at: last,
            order: self.search.order
        )
        try self.target.end(reply, as: end)
    }

    /// Shows the newest changes, the last of them last, and then every one as it happens.
    func follow(_ most: UInt64) async throws {
        // The watch shows what happens from here on.
        let head = try await self.client.accepted(.get)
        var past = self
        past.search.order = most == .max ? .oldest : .newest
        past.search.before = head.seq.map { .seq($0 + 1) }
        let reply: Line
        if most == .max {
            reply = try await past.changes(most) { try self.target.show($0) }
        } else {
            let (lines, end) = try await past.page(most)
            for line in lines.reversed() { try self.target.show(line) }
            reply = end
        }
        if !self.target.options.json {
            try self.target.end(reply, as: self.target.options.text.notice(reply))
        }
        let watch = self.client.watch(since: head.cursor, only: self.search.only?.patterns ?? [])
        try await Race.run(
            Race.reader,
            {
                try await Follow(watch: watch).run { news in
                    if case .line(let line) = news, self.isNews(line) {
                        try self.target.show(line)
                    }
                    news.complain()
                    return .next
                }
            }
        )
    }

    /// Whether a line of the watch is shown.
    private func isNews(_ line: Line) -> Bool {
        switch line.kind {
        case .change: self.search.wants(line)
        // A state is news only if it says what is missing.
        case .state: line.resync != nil
        case .declared: true
        case .live, .beat, .reply, .ask, .bye, .other: false
        }
    }

    /// Calls `body` with each change, and returns the daemon's last reply; the search moves on behind them.
    private mutating func changes(
        _ most: UInt64,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        var left = most
        let progress = Progress("searching")
        defer { progress.end() }
        while true {
            var last: String?
            self.search.limit = min(left, Self.page)
            let reply = try await self.client.changes(
                Request(.history(self.search)),
                progress: StandardError.isTerminal ? { progress.show($0, of: $1) } : nil
            ) { line in
                progress.end()
                last = line.cursor
                try body(line)
            }
            .accepted()
            left -= min(left, reply.count ?? left)
            guard let last else { return reply }
            if self.search.order == .newest {
                self.search.before = .cursor(last)
            } else {
                self.search.after = .cursor(last)
            }
            guard left > 0, reply.hasMore else { return reply }
        }
    }

    /// The next few changes, and the reply that ends them; the search moves on behind them.
    private mutating func page(_ limit: UInt64) async throws -> ([Line], Line) {
        var lines: [Line] = []
        let reply = try await self.changes(limit) { lines.append($0) }
        return (lines, reply)
    }

    // MARK: - Stays

    /// Calls `body` with the change that began each stay, which says how long that lasted.
    private mutating func showStays(
        _ most: UInt64,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        var left = most
        while true {
            let (lines, reply) = try await self.page(min(left, 1000))
            for line in lines where line.beginsStay && left > 0 {
                try body(try await self.measured(line))
                left -= 1
            }
            guard left > 0, reply.hasMore, !lines.isEmpty else { return reply }
        }
    }

    /// The change with what is known of the length of its stay: `forMs`, and `until` if it is over.
    private func measured(_ line: Line) async throws -> Line {
        guard let seq = line.seq, let at = line.at else { return line }
        var members: [JSONMember] = []
        if let end = try await self.end(of: seq)?.at {
            let length = max(0, end.microseconds - at.microseconds) / 1000
            members = [
                JSONMember("forMs", .integer(length)), JSONMember("until", .string(end.rfc3339)),
            ]
        } else {
            let present = try await self.client.accepted(.get)
            guard (present.stay ?? present.seq) == seq else { return line }
            let length = try await self.client.stayAge(of: present)
            members = [JSONMember("forMs", .integer(length.wholeMilliseconds))]
        }
        return Line((line.value.members ?? []) + members) ?? line
    }

    /// The change that ended the stay which began with that one; nil if there is none.
    private func end(of seq: UInt64) async throws -> Line? {
        var (after, limit): (UInt64, UInt64) = (seq, 1)
        while true {
            var (end, last): (Line?, UInt64?) = (nil, nil)
            let request = Request.history(limit: limit, after: .seq(after))
            let reply = try await self.client.changes(request) { line in
                last = line.seq
                if end == nil, line.beginsStay { end = line }
            }
            guard end == nil, let last, reply.hasMore else { return end }
            // What follows a stay's beginning is mostly its end; where it is updates there may be many.
            (after, limit) = (last, 1000)
        }
    }
}

extension Line {
    /// Whether a change began a stay; an update says in which one it was made.
    fileprivate var beginsStay: Bool { self.stay == nil || self.stay == self.seq }
}

/// The changes of several machines in the order of their times.
extension [HistoryRun] {
    /// Shows as many as wanted, and says what is missing; a machine that cannot be asked does not stop the rest.
    ///
    /// - Throws: the first error, once it has been reported.
    mutating func show(_ most: UInt64) async throws {
        var left = most
        var failure: ExitStatus?
        while left > 0 {
            for index in self.indices.reversed() {
                let target = self[index].target
                let end = try await target.attempt {
                    try await self[index].look(for: left)
                }
                guard let end else { continue }
                failure = failure ?? end
                self.remove(at: index)
            }
            let heads = self.indices.compactMap { index in
                self[index].found.first.map { (index: index, at: $0.at?.microseconds ?? 0) }
            }
            let isNewestFirst = self.first?.search.order == .newest
            guard
                let next = heads.min(by: { isNewestFirst ? $0.at > $1.at : $0.at < $1.at })?.index,
                let line = self[next].found.popFirst()
            else { break }
            try self[next].target.show(line)
            left -= 1
        }
        for run in self {
            guard let reply = run.reply else { continue }
            try run.target.end(reply, as: run.target.options.text.notice(reply))
        }
        if left == 0, self.contains(where: { !$0.found.isEmpty || $0.hasMore }),
            let first = self.first?.target, !first.options.json
        {
            let text = "— there are more: -n all"
            if StandardOutput.isTerminal {
                try StandardOutput.offer(first.options.text.aside(text))
            } else {
                StandardError.say(text)
            }
        }
        if let failure { throw failure }
    }
}

extension HistoryRun {
    /// Changes of one of several machines that are asked for at a time.
    private static let portion: UInt64 = 200

    /// Looks for more changes if there are none to be shown and there may be some.
    fileprivate mutating func look(for most: UInt64) async throws {
        guard self.found.isEmpty, self.hasMore else { return }
        let (lines, reply) = try await self.page(min(most, Self.portion))
        (self.found, self.reply) = (lines[...], reply)
    }

    /// Whether there may be changes that were not asked for yet.
    fileprivate var hasMore: Bool { self.reply?.hasMore ?? true }
}
