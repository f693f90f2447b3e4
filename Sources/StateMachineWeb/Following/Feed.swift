import StateMachineClient
import StateMachineProtocol
import Synchronization

/// Passes what happens to one machine to any number of readers, each at its own place; one that
/// stands still costs nobody else anything.
///
/// Guarded state, behind one lock: the ring, the last line that told the state, and whether the
/// daemon is gone.
final class Feed: Sendable {
    /// The most bytes that a reader is given at a time.
    ///
    /// 64 KiB: what waits for a browser that has stopped reading.
    private static let portion = 1 << 16

    fileprivate struct Guarded {
        var ring = EventRing()
        var latest: Line?
        /// The event that says that the daemon is gone, while it is.
        var gone: ServerEvent?
    }

    /// Rings when there are new events.
    let bell = Bell()
    private let guarded = Mutex(Guarded())

    /// The last line that told the state; nil before the first.
    var latest: Line? { self.guarded.withLock { $0.latest } }

    /// Whether nothing has been heard yet, not even that the daemon is gone.
    var isUnknown: Bool { self.guarded.withLock { $0.latest == nil && $0.gone == nil } }

    /// Whether the daemon was there when it was last heard of.
    var isPresent: Bool { self.guarded.withLock { $0.latest != nil && $0.gone == nil } }

    // MARK: - What happens

    /// Takes a line from the daemon.
    func take(_ line: Line) {
        self.guarded.withLock { guarded in
            if guarded.gone != nil {
                guarded.gone = nil
                guarded.ring.append(.back)
            }
            switch line.kind {
            case .change, .state:
                guarded.latest = line
                let kind: ServerEvent.Kind = line.kind == .change ? .change : .state
                guarded.ring.append(ServerEvent(kind, line))
            case .declared:
                guarded.ring.append(ServerEvent(kind: .declared, data: line.text))
            case .live, .beat, .reply, .ask, .bye, .other: break
            }
        }
    }

    /// Notes that there is no connection to the daemon, for that reason.
    func lost(_ reason: String) {
        self.guarded.withLock { guarded in
            guard guarded.gone == nil else { return }
            let data = JSONValue.object([JSONMember("message", .string(reason))])
            let event = ServerEvent(kind: .gone, data: data.description)
            guarded.gone = event
            guarded.ring.append(event)
        }
    }

    // MARK: - What is read

    /// Where a reader begins that has seen everything up to that `Last-Event-ID`, or nothing.
    func start(after id: String?) -> FeedStart {
        self.guarded.withLock { guarded in
            let gone = guarded.gone.map { [$0] } ?? []
            guard let latest = guarded.latest, let head = latest.cursor.flatMap({ Cursor($0) })
            else { return .unknown(gone) }
            let end = FeedPlace(next: guarded.ring.end, cursor: head)
            func now(_ reason: String?) -> FeedStart {
                .at(end, [latest.stateEvent(resync: reason)] + gone)
            }
            guard let id else { return now(nil) }
            guard let cursor = Cursor(id) else { return now("unknown") }
            if let next = guarded.ring.next(after: cursor) {
                return .at(FeedPlace(next: next, cursor: cursor), [])
            }
            guard cursor.epoch == head.epoch else { return now("restarted") }
            guard cursor.seq < head.seq else { return now("unknown") }
            return .before(cursor, upTo: head.seq)
        }
    }

    /// The state instead of what a reader has missed.
    func resync(after cursor: Cursor?, because reason: String) -> (FeedPlace, [ServerEvent]) {
        self.guarded.withLock { $0.resync(after: cursor, because: reason) }
    }

    /// Returns what follows a place, and moves the place on; empty if nothing follows.
    func read(_ place: inout FeedPlace) -> [ServerEvent] {
        self.guarded.withLock { guarded in
            guard place.next >= guarded.ring.first else {
                let (next, events) = guarded.resync(after: place.cursor, because: "lagged")
                place = next
                return events
            }
            let events = guarded.ring.events(from: place.next, bytes: Self.portion)
            place.next += UInt64(events.count)
            place.cursor = events.last { $0.cursor != nil }?.cursor ?? place.cursor
            return events
        }
    }
}

extension Feed.Guarded {
    fileprivate func resync(
        after cursor: Cursor?,
        because reason: String
    ) -> (FeedPlace, [ServerEvent]) {
        let head = self.latest?.cursor.flatMap { Cursor($0) }
        var missed: UInt64?
        if let cursor, let head, cursor.epoch == head.epoch, cursor.seq <= head.seq {
            missed = head.seq - cursor.seq
        }
        let state = self.latest.map { [$0.stateEvent(resync: reason, missed: missed)] } ?? []
        let gone = self.gone.map { [$0] } ?? []
        return (FeedPlace(next: self.ring.end, cursor: head), state + gone)
    }
}

extension ServerEvent {
    /// A line of the daemon as it came.
    init(_ kind: Kind, _ line: Line) {
        self.init(kind: kind, cursor: line.cursor.flatMap { Cursor($0) }, data: line.text)
    }
}
