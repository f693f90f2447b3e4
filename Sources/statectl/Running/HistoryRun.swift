import StateMachineClient
import StateMachineCore

/// Shows old changes, one page after the other.
struct HistoryRun {
    let client: Client
    let search: ChangeSearch
    let options: SharedOptions
    let printer: LinePrinter

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
        let reply = try await self.changes(count, order: order) { line in
            last = line.cursor
            try self.print(line)
            shown += 1
            progress.show(shown, of: whole)
        }
        progress.end()
        if last == nil, let name = self.search.by?.program {
            StandardError.write(
                "statectl: no user is called \(name.quoted), and no command or unit of that name has made such a change"
            )
        } else if last == nil, StandardOutput.isTerminal {
            StandardError.write("statectl: there is no such change")
        }
        let end = self.options.text.end(ofHistory: reply, at: last, order: order)
        try self.printer.end(reply, as: end)
    }

    /// Shows the newest changes, the last of them last, and then every one as it happens.
    func follow(_ count: ChangeCount) async throws {
        // The watch shows what happens from here on.
        let head = try await self.client.accepted(.get)
        var search = self.search
        search.before = head.seq.map { .seq($0 + 1) }
        let past = HistoryRun(
            client: self.client,
            search: search,
            options: self.options,
            printer: self.printer
        )
        let reply: Line
        switch count {
        case .all:
            reply = try await past.changes(.all, order: .oldest) { try self.print($0) }
        case .atMost:
            var lines: [Line] = []
            reply = try await past.changes(count, order: .newest) { lines.append($0) }
            for line in lines.reversed() { try self.print(line) }
        }
        if !self.options.json { try self.printer.end(reply, as: self.options.text.notice(reply)) }
        try await self.resume(after: head.cursor)
    }

    private func resume(after cursor: String?) async throws {
        let watch = self.client.watch(since: cursor, only: self.search.patterns)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var isInterrupted = false
                    for try await event in watch { try self.take(event, &isInterrupted) }
                }
                group.addTask {
                    await ReaderWatch.readerIsGone()
                    throw OutputError.readerGone
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch ClientError.refused(let reply) {
            try self.options.refuse(reply)
        }
    }

    private func take(_ event: Watch.Event, _ isInterrupted: inout Bool) throws {
        switch event {
        case .line(let line):
            if isInterrupted { StandardError.write("statectl: connected") }
            isInterrupted = false
            switch line.kind {
            case .change: if self.search.wants(line) { try self.print(line) }
            // A state is news only if it says what is missing.
            case .state: if line.resync != nil { try self.print(line) }
            case .declared: try self.print(line)
            case .live, .beat, .reply, .ask, .bye, .other: break
            }
        case .reached: break
        case .interrupted(let error, let attempt, _):
            isInterrupted = true
            guard attempt == 1 else { return }
            StandardError.write("statectl: \(error.reconnecting)")
        }
    }

    /// Calls `body` with each change, and returns the daemon's last reply.
    private func changes(
        _ count: ChangeCount,
        order: Request.HistoryOrder,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        var (after, before) = (self.search.after, self.search.before)
        var left: UInt64 = if case .atMost(let number) = count { number } else { .max }
        while true {
            var last: String?
            let request = Request.history(
                limit: min(left, Self.page),
                only: self.search.patterns,
                order: order,
                after: after,
                before: before,
                by: self.search.by?.uid,
                program: self.search.by?.program,
                cause: self.search.cause
            )
            let reply = try await self.client.changes(request) { line in
                last = line.cursor
                try body(line)
            }
            guard reply.isOK == true else { try self.options.refuse(reply) }
            left -= min(left, reply.count ?? left)
            guard left > 0, reply.hasMore, let last else { return reply }
            switch order {
            case .oldest: after = .cursor(last)
            case .newest: before = .cursor(last)
            }
        }
    }

    private func print(_ line: Line) throws { try self.printer.show(line) }
}
