import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// Shows old changes, one page after the other.
struct HistoryRun: Sendable {
    let client: Client
    var search: ChangeSearch
    let target: MachineTarget
    /// Whether to show the stays, each with its length, and not every change.
    var showsStays = false

    /// The most changes that the daemon shows at once.
    private static let page = RequestLimits.historyChanges

    /// Shows the changes, as many as wanted, and says what is missing.
    func show(_ count: ChangeCount, order: Request.HistoryOrder) async throws {
        var last: String?
        var shown: UInt64 = 0
        // On a terminal the changes themselves show how far it has come.
        let progress = Progress(
            "writing",
            isShown: StandardError.isTerminal && !StandardOutput.isTerminal
        )
        defer { progress.end() }
        let whole: UInt64? = if case .atMost(let most) = count { most } else { nil }
        func take(_ line: Line) throws {
            last = line.cursor
            try self.print(line)
            shown += 1
            progress.show(shown, of: whole)
        }
        var rest = self
        let reply =
            self.showsStays
            ? try await rest.showStays(count, order: order, take)
            : try await rest.changes(count, order: order, take)
        progress.end()
        if last == nil, let name = self.search.by?.program {
            StandardError.write(
                "statectl: no user is called \(name.quoted.printable), and no command or unit of that name has made such a change"
            )
        } else if last == nil, StandardOutput.isTerminal {
            StandardError.write("statectl: there is no such change")
        }
        let end = self.target.options.text.end(ofHistory: reply, at: last, order: order)
        try self.target.end(reply, as: end)
    }

    /// Shows the newest changes, the last of them last, and then every one as it happens.
    func follow(_ count: ChangeCount) async throws {
        // The watch shows what happens from here on.
        let head = try await self.client.accepted(.get)
        var past = self
        past.search.before = head.seq.map { .seq($0 + 1) }
        let reply: Line
        switch count {
        case .all:
            reply = try await past.changes(.all, order: .oldest) { try self.print($0) }
        case .atMost:
            var lines: [Line] = []
            reply = try await past.changes(count, order: .newest) { lines.append($0) }
            for line in lines.reversed() { try self.print(line) }
        }
        if !self.target.options.json {
            try self.target.end(reply, as: self.target.options.text.notice(reply))
        }
        let follow = Follow(
            watch: { self.client.watch(since: $0, only: self.search.patterns) },
            since: head.cursor
        )
        try await Race.run(
            Race.reader,
            {
                try await follow.run { news in
                    if case .line(let line) = news, self.isNews(line) { try self.print(line) }
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
        _ count: ChangeCount,
        order: Request.HistoryOrder,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        var left = count.most
        let progress = Progress("searching")
        defer { progress.end() }
        while true {
            var last: String?
            let reply = try await self.client.changes(
                self.search.request(min(left, Self.page), order: order),
                progress: StandardError.isTerminal ? { progress.show($0, of: $1) } : nil
            ) { line in
                progress.end()
                last = line.cursor
                try body(line)
            }
            .accepted()
            left -= min(left, reply.count ?? left)
            guard let last else { return reply }
            switch order {
            case .oldest: self.search.after = .cursor(last)
            case .newest: self.search.before = .cursor(last)
            }
            guard left > 0, reply.hasMore else { return reply }
        }
    }

    /// The next few changes, and the reply that ends them; the search moves on behind them.
    mutating func page(_ limit: UInt64, order: Request.HistoryOrder) async throws -> ([Line], Line)
    {
        var lines: [Line] = []
        let reply = try await self.changes(.atMost(limit), order: order) { lines.append($0) }
        return (lines, reply)
    }

    // MARK: - Stays

    /// Calls `body` with the change that began each stay, which says how long that lasted.
    private mutating func showStays(
        _ count: ChangeCount,
        order: Request.HistoryOrder,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        var left = count.most
        while true {
            let (lines, reply) = try await self.page(min(left, 1000), order: order)
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

    fileprivate func print(_ line: Line) throws { try self.target.show(line) }
}

extension Line {
    /// Whether a change began a stay; an update says in which one it was made.
    fileprivate var beginsStay: Bool { self.stay == nil || self.stay == self.seq }
}

/// The changes of several machines in the order of their times.
struct HistoryMerge {
    private struct Source {
        var run: HistoryRun
        var lines: ArraySlice<Line> = []
        var reply: Line?

        /// Whether there may be more than its lines.
        var hasMore: Bool { self.reply?.hasMore ?? true }
    }

    /// Changes asked for at a time.
    private static let page: UInt64 = 200

    private var sources: [Source]
    private let order: Request.HistoryOrder

    init(_ runs: [HistoryRun], order: Request.HistoryOrder) {
        self.sources = runs.map { Source(run: $0) }
        self.order = order
    }

    /// Shows as many as wanted, and says what is missing; a machine that cannot be asked does not stop the rest.
    ///
    /// - Throws: the first error, once it has been reported.
    mutating func show(_ count: ChangeCount) async throws {
        var left = count.most
        var failure: ExitStatus?
        while left > 0 {
            for index in self.sources.indices.reversed()
            where self.sources[index].lines.isEmpty && self.sources[index].hasMore {
                do {
                    let limit = min(left, Self.page)
                    let (lines, reply) = try await self.sources[index].run.page(
                        limit,
                        order: self.order
                    )
                    (self.sources[index].lines, self.sources[index].reply) = (lines[...], reply)
                } catch ClientError.refused(let reply) {
                    try self.sources[index].run.target.options.refuse(reply)
                } catch let error as ClientError {
                    let name = self.sources[index].run.target.mark?.name ?? ""
                    StandardError.write("statectl: \(name): \(error.description.printable)")
                    failure = failure ?? ExitStatus(error)
                    self.sources.remove(at: index)
                }
            }
            guard let next = self.next else { break }
            guard let line = self.sources[next].lines.popFirst() else { break }
            try self.sources[next].run.print(line)
            left -= 1
        }
        try self.end(isCut: left == 0)
        if let failure { throw failure }
    }

    /// The source of the change that comes next; nil if there is none.
    private var next: Int? {
        let heads = self.sources.indices.compactMap { index in
            self.sources[index].lines.first.map { (index, $0.at?.microseconds ?? 0) }
        }
        return switch self.order {
        case .oldest: heads.min { $0.1 < $1.1 }?.0
        case .newest: heads.max { $0.1 < $1.1 }?.0
        }
    }

    private func end(isCut: Bool) throws {
        for source in self.sources {
            guard let reply = source.reply else { continue }
            let notice = source.run.target.options.text.notice(reply)
            try source.run.target.end(reply, as: notice)
        }
        guard isCut, let first = self.sources.first, !first.run.target.options.json,
            self.sources.contains(where: { !$0.lines.isEmpty || $0.hasMore })
        else { return }
        let text = first.run.target.options.text.aside("— there are more: -n all")
        if StandardOutput.isTerminal {
            try StandardOutput.offer(text)
        } else {
            StandardError.write("statectl: — there are more: -n all")
        }
    }
}
