import NIOCore
import StateMachineProtocol

/// The last events of a machine, for all readers.
struct EventRing: Sendable {
    /// Events and bytes that are kept for readers that fall behind; the newest event always is.
    ///
    /// 4096 and 4 MiB: what the daemon keeps of changes.
    private static let limits = (events: 4096, bytes: 4 << 20)

    private var entries = CircularBuffer<ServerEvent>()
    private var size = 0
    /// The number of the oldest event that is kept; the numbers after it are consecutive.
    private(set) var first: UInt64 = 0

    /// The number that the next event will have.
    var end: UInt64 { self.first + UInt64(self.entries.count) }

    mutating func append(_ event: ServerEvent) {
        self.entries.append(event)
        self.size += event.data.utf8.count
        while self.entries.count > Self.limits.events
            || self.size > Self.limits.bytes && self.entries.count > 1
        {
            self.size -= self.entries.removeFirst().data.utf8.count
            self.first += 1
        }
    }

    /// The events from that number on: at least one, if any, and more up to that many bytes.
    func events(from number: UInt64, bytes limit: Int) -> [ServerEvent] {
        guard number >= self.first, number < self.end else { return [] }
        var (taken, size): ([ServerEvent], Int) = ([], 0)
        for event in self.entries.dropFirst(Int(number - self.first)) {
            size += event.data.utf8.count
            guard taken.isEmpty || size <= limit else { break }
            taken.append(event)
        }
        return taken
    }

    /// The number of the event that directly follows that place; nil if it is not kept.
    func next(after cursor: Cursor) -> UInt64? {
        for (index, event) in self.entries.enumerated().reversed() {
            guard let own = event.cursor, own.epoch == cursor.epoch else { continue }
            if own.seq == cursor.seq { return self.first + UInt64(index) + 1 }
            if event.kind == .change, own.seq == cursor.seq + 1 {
                return self.first + UInt64(index)
            }
        }
        return nil
    }
}
