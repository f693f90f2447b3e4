import StateMachineClient
import StateMachineCore
import StateMachineDeclaration

/// A daemon's past, which is read page by page.
struct PastPages: Sendable {
    let client: Client
    /// What is looked for; it moves on behind what was found.
    var call: HistoryCall
    /// The last answer; nil before the first.
    private(set) var reply: Line?

    /// Whether there may be changes that were not asked for yet.
    var hasMore: Bool { self.reply?.hasMore ?? true }

    /// Calls `body` with each of the next changes, and says how far the search has come.
    ///
    /// - Parameters:
    ///   - most: how many at most.
    ///   - body: called with each change.
    /// - Returns: the daemon's last reply.
    /// - Throws: ``ClientError``, also for a refusal, `CancellationError`, or what `body` throws.
    mutating func changes(_ most: UInt64, _ body: (Line) throws -> Void) async throws -> Line {
        let progress = Progress("searching")
        defer { progress.end() }
        var left = most
        while true {
            var last: HistoryPosition?
            self.call.limit = min(left, RequestLimits.historyChanges)
            let reply = try await self.client.changes(
                Request(.history(self.call)),
                progress: StandardError.isTerminal ? { progress.show($0, of: $1) } : nil
            ) { line in
                progress.end()
                last = line.cursor.map { .cursor($0) }
                try body(line)
            }
            .accepted()
            self.reply = reply
            left -= min(left, reply.count ?? left)
            guard let last else { return reply }
            switch self.call.order {
            case .newest: self.call.before = last
            case .oldest: self.call.after = last
            }
            guard left > 0, reply.hasMore else { return reply }
        }
    }

    /// Calls `body` with the change that began each stay, which says how long that lasted.
    mutating func showStays(_ most: UInt64, _ body: (Line) throws -> Void) async throws -> Line {
        var left = most
        while true {
            var lines: [Line] = []
            let reply = try await self.changes(min(left, 1000)) { lines.append($0) }
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
