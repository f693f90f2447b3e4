import StateMachineClient
import StateMachineProtocol

/// Writes what happens to a machine for one reader, as fast as that one reads.
struct EventStream {
    /// The most changes asked for at a time, and in all, before a reader gets the state instead.
    ///
    /// 64: 8 MiB of the largest states; 10,000: what the daemon answers at once to others.
    private static let limits = (page: UInt64(64), all: 10_000)

    let machine: Machine
    /// Writes bytes, and returns when there is room for more.
    let write: ([UInt8]) async throws -> Void

    /// Writes the stream until the service ends.
    ///
    /// - Throws: what writing throws, and `CancellationError`.
    func run(after id: String?) async throws {
        // At once, so that the browser knows that it is connected.
        try await self.write(ServerEvent.beginning)
        guard var place = try await self.begin(after: id) else { return }
        while true {
            try Task.checkCancellation()
            let bytes = self.machine.feed.read(&place)
            if bytes.isEmpty {
                switch await self.machine.feed.news(from: place.next) {
                case .events: break
                case .beat: try await self.write(ServerEvent.beat)
                case .ended: return
                }
            } else {
                try await self.write(bytes)
            }
        }
    }

    /// Writes what was missed, or the state; returns where to go on, or nil if the feed has ended.
    private func begin(after id: String?) async throws -> FeedPlace? {
        var id = id
        var (count, hasSaid) = (0, false)
        while true {
            try Task.checkCancellation()
            let end = self.machine.feed.next
            switch self.machine.feed.start(after: id) {
            case .at(let place, let bytes):
                try await self.write(bytes)
                return place
            case .unknown(let gone):
                if !gone.isEmpty, !hasSaid {
                    try await self.write(gone)
                    hasSaid = true
                }
                switch await self.machine.feed.news(from: end) {
                case .events: break
                case .beat: try await self.write(ServerEvent.beat)
                case .ended: return nil
                }
            case .before(let cursor, let head):
                let replay =
                    count < Self.limits.all ? try await self.replay(cursor, upTo: head) : nil
                guard let replay else {
                    let (place, bytes) = self.machine.feed.resync(after: cursor, because: "evicted")
                    try await self.write(bytes)
                    return place
                }
                count += replay.count
                id = replay.cursor
            }
        }
    }

    /// Writes a part of what the daemon still has after that; nil if it has no more.
    private func replay(
        _ cursor: Cursor,
        upTo head: UInt64
    ) async throws -> (count: Int, cursor: String)? {
        var lines: [Line] = []
        do {
            let since = cursor.description
            let reply = try await self.machine.client.history(since: since, limit: Self.limits.page)
            {
                // What is newer comes from the feed.
                if let seq = $0.seq, seq <= head { lines.append($0) }
            }
            guard reply.isOK == true, reply.resync == nil else { return nil }
        } catch is ClientError {
            return nil
        }
        guard let last = lines.last?.cursor else { return nil }
        for line in lines {
            try await self.write(
                ServerEvent(kind: .change, cursor: line.cursor, data: line.text).bytes
            )
        }
        return (lines.count, last)
    }
}
