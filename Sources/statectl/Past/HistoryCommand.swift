import ArgumentParser
import Processes
import StateMachineClient
import StateMachineCore
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
            WHEN is a time (22:40, 2026-11-20, "2026-11-20 22:40:05", today, "yesterday 10:00", "mon 9:00"), a time ago \
            (30s, 1h, 2d), the number of a change, or a cursor. A time of day is the last one that has passed. --since begins with \
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
        let columns = Columns(width: StandardOutput.columns)
        var pasts: [MachinePast] = []
        try await targets.each { target in
            var target = target
            target.columns = columns
            pasts.append((target, PastPages(client: try await target.client, call: search), []))
        }
        if targets.count > 1 { return try await Self.show(pasts, count) }
        for past in pasts {
            try await self.follow
                ? Self.follow(past.target, past.pages, count)
                : self.show(past.target, past.pages, count)
        }
    }

    private func search() throws -> HistoryCall {
        var call = HistoryCall.all
        call.only = self.patterns.isEmpty ? nil : PatternList(self.patterns)
        call.order = self.oldestFirst ? .oldest : .newest
        call.after = try self.options.position("--since", self.since)
        call.before = try self.options.position("--until", self.until)
        call.by = self.by.map { name in
            (UInt32(name) ?? Account(named: name)?.uid).map { .user($0) } ?? .program(name)
        }
        call.cause = self.cause
        return call
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
    /// Whether a line of a watch is shown after the past that this asked for.
    fileprivate func wants(_ line: Line) -> Bool {
        switch line.kind {
        case .change: break
        // A state is news only if it says what is missing.
        case .state: return line.resync != nil
        case .declared: return true
        case .live, .beat, .reply, .ask, .bye, .other: return false
        }
        switch self.by {
        case .user(let uid): if line.by?.uid != uid { return false }
        case .program(let name): if line.by?.runs(name) != true { return false }
        case nil: break
        }
        return self.cause.map { line.cause?.holds($0) ?? false } ?? true
    }
}

extension HistoryCommand {
    /// A machine's past, and of several machines what was found and is still to be shown.
    private typealias MachinePast = (
        target: MachineTarget, pages: PastPages, found: ArraySlice<Line>
    )

    /// Shows the changes, at most that many, and says what is missing.
    private func show(_ target: MachineTarget, _ past: PastPages, _ most: UInt64) async throws {
        var (past, last, shown) = (past, String?.none, UInt64(0))
        // On a terminal the changes themselves show how far it has come.
        let progress = Progress(
            "writing",
            isShown: StandardError.isTerminal && !StandardOutput.isTerminal
        )
        defer { progress.end() }
        func take(_ line: Line) throws {
            last = line.cursor
            try target.show(line)
            shown += 1
            progress.show(shown, of: most == .max ? nil : most)
        }
        let reply =
            self.stays ? try await past.showStays(most, take) : try await past.changes(most, take)
        progress.end()
        if last == nil, case .program(let name)? = past.call.by {
            StandardError.say(
                "there is no user \(name.quoted.printable), and no command or unit of that name has made such a change"
            )
        } else if last == nil, StandardOutput.isTerminal {
            StandardError.say("no change matches")
        }
        let text = target.options.text
        try target.end(reply, as: text.end(ofHistory: reply, at: last, order: past.call.order))
    }

    /// Shows the newest changes, the last of them last, and then every one as it happens.
    private static func follow(
        _ target: MachineTarget,
        _ past: PastPages,
        _ most: UInt64
    ) async throws {
        // The watch shows what happens from here on.
        let head = try await past.client.accepted(.get)
        var past = past
        past.call.order = most == .max ? .oldest : .newest
        past.call.before = head.seq.map { .seq($0 + 1) }
        var newest: [Line] = []
        let reply = try await past.changes(most) { line in
            if most == .max { try target.show(line) } else { newest.append(line) }
        }
        for line in newest.reversed() { try target.show(line) }
        if !target.options.json { try target.end(reply, as: target.options.text.notice(reply)) }
        let call = past.call
        let watch = past.client.watch(since: head.cursor, only: call.only?.patterns ?? [])
        try await Race.run(
            Race.reader,
            {
                try await Follow(watch: watch).run { news in
                    if case .line(let line) = news, call.wants(line) { try target.show(line) }
                    news.complain()
                    return .next
                }
            }
        )
    }

    /// Changes of one of several machines that are asked for at a time.
    private static let portion: UInt64 = 200

    /// Shows the changes of several machines in the order of their times, as many as wanted, and says what is missing;
    /// a machine that cannot be asked does not stop the rest.
    ///
    /// - Throws: the first error, once it has been reported.
    private static func show(_ pasts: [MachinePast], _ most: UInt64) async throws {
        var (pasts, left) = (pasts, most)
        var failure: ExitStatus?
        while left > 0 {
            for index in pasts.indices.reversed() {
                let end = try await pasts[index].target.attempt {
                    guard pasts[index].found.isEmpty, pasts[index].pages.hasMore else { return }
                    var lines: [Line] = []
                    _ = try await pasts[index].pages.changes(min(left, Self.portion)) {
                        lines.append($0)
                    }
                    pasts[index].found = lines[...]
                }
                guard let end else { continue }
                failure = failure ?? end
                pasts.remove(at: index)
            }
            let heads = pasts.indices.compactMap { index in
                pasts[index].found.first.map { (index: index, at: $0.at?.microseconds ?? 0) }
            }
            let isNewestFirst = pasts.first?.pages.call.order == .newest
            guard
                let next = heads.min(by: { isNewestFirst ? $0.at > $1.at : $0.at < $1.at })?.index,
                let line = pasts[next].found.popFirst()
            else { break }
            try pasts[next].target.show(line)
            left -= 1
        }
        for (target, pages, _) in pasts {
            guard let reply = pages.reply else { continue }
            try target.end(reply, as: target.options.text.notice(reply))
        }
        if left == 0, pasts.contains(where: { !$0.found.isEmpty || $0.pages.hasMore }),
            let first = pasts.first?.target, !first.options.json
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
