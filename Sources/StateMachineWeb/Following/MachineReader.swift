import StateMachineClient
import StateMachineProtocol

/// Reads what happens to one machine, from the place that a reader has come to.
struct MachineReader {
    /// The most changes asked for at a time, and in all, before a reader gets the state instead.
    ///
    /// 64: 8 MiB of the largest states; 10,000: what the daemon answers at once to others.
    private static let limits = (page: UInt64(64), all: 10_000)

    private enum Phase {
        /// What it has missed is looked for, after that id; so many changes have been found.
        case beginning(id: String?, count: Int, hasSaidGone: Bool)
        case reading(FeedPlace)
    }

    let machine: Machine
    private var phase: Phase

    init(_ machine: Machine, after id: String?) {
        self.machine = machine
        self.phase = .beginning(id: id, count: 0, hasSaidGone: false)
    }

    /// What follows; empty if nothing follows yet.
    ///
    /// - Throws: `CancellationError`.
    mutating func next() async throws -> [ServerEvent] {
        while true {
            switch self.phase {
            case .reading(var place):
                let events = self.machine.feed.read(&place)
                self.phase = .reading(place)
                return events
            case .beginning(let id, let count, let hasSaidGone):
                switch self.machine.feed.start(after: id) {
                case .at(let place, let events):
                    self.phase = .reading(place)
                    if hasSaidGone, !events.contains(where: { $0.kind == .gone }) {
                        return [.back] + events
                    }
                    if !events.isEmpty { return events }
                case .unknown(let gone):
                    let isNew = !gone.isEmpty && !hasSaidGone
                    self.phase = .beginning(
                        id: id,
                        count: count,
                        hasSaidGone: hasSaidGone || isNew
                    )
                    return isNew ? gone : []
                case .before(let cursor, let head):
                    let replay =
                        count < Self.limits.all ? try await self.replay(cursor, upTo: head) : nil
                    guard let replay else {
                        let (place, events) = self.machine.feed.resync(
                            after: cursor,
                            because: "evicted"
                        )
                        self.phase = .reading(place)
                        return events
                    }
                    self.phase = .beginning(
                        id: replay.last?.cursor?.description,
                        count: count + replay.count,
                        hasSaidGone: hasSaidGone
                    )
                    return replay
                }
            }
        }
    }

    /// A part of what the daemon still has after that; nil if it has no more.
    private func replay(_ cursor: Cursor, upTo head: UInt64) async throws -> [ServerEvent]? {
        var events: [ServerEvent] = []
        do {
            let since = cursor.description
            let reply = try await self.machine.client.history(since: since, limit: Self.limits.page)
            {
                // What is newer comes from the feed.
                if let seq = $0.seq, seq <= head { events.append(ServerEvent(.change, $0)) }
            }
            guard reply.isOK == true, reply.resync == nil else { return nil }
        } catch is ClientError {
            return nil
        }
        return events.last?.cursor == nil ? nil : events
    }
}
