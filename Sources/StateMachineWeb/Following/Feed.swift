import StateMachineClient
import StateMachineProtocol
import Synchronization

/// Passes what happens to one machine to any number of readers, each at its own place; one that
/// stands still costs nobody else anything.
///
/// Guarded state, behind one lock: the ring, the last line that told the state, whether the daemon
/// is gone, and the waiting readers. No reader is resumed while it is held.
final class Feed: Sendable {
    /// The most bytes that a reader is given at a time.
    ///
    /// 64 KiB: what waits for a browser that has stopped reading.
    private static let portion = 1 << 16

    fileprivate struct Guarded {
        var ring = EventRing()
        /// Events before this number have been announced to waiting readers.
        var announced: UInt64 = 0
        var latest: Line?
        /// The event that says that the daemon is gone, while it is.
        var gone: [UInt8]?
        var waiting: [UInt64: CheckedContinuation<FeedNews, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var isEnded = false
    }

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
                guarded.append(ServerEvent(kind: .back, data: "{}"))
            }
            switch line.kind {
            case .change, .state:
                guarded.latest = line
                let kind: ServerEvent.Kind = line.kind == .change ? .change : .state
                guarded.append(ServerEvent(kind: kind, cursor: line.cursor, data: line.text))
            case .declared:
                guarded.append(ServerEvent(kind: .declared, data: line.text))
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
            guarded.gone = event.bytes
            guarded.append(event)
        }
    }

    // MARK: - Who waits

    /// Tells waiting readers that there are events, if there are new ones.
    func announce() {
        let waiting: [CheckedContinuation<FeedNews, Never>] = self.guarded.withLock { guarded in
            guard guarded.announced < guarded.ring.end else { return [] }
            guarded.announced = guarded.ring.end
            return guarded.takeWaiting()
        }
        for continuation in waiting { continuation.resume(returning: .events) }
    }

    /// Has waiting readers show that they are still there.
    func beat() {
        let waiting = self.guarded.withLock { $0.takeWaiting() }
        for continuation in waiting { continuation.resume(returning: .beat) }
    }

    /// Ends the feed.
    func finish() {
        let waiting = self.guarded.withLock { guarded in
            guarded.isEnded = true
            return guarded.takeWaiting()
        }
        for continuation in waiting { continuation.resume(returning: .ended) }
    }

    /// Waits until there is an event from that number on.
    func news(from number: UInt64) async -> FeedNews {
        let waiter = self.guarded.withLock { guarded in
            guarded.lastWaiter += 1
            return guarded.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let news: FeedNews? = self.guarded.withLock { guarded in
                    if guarded.isEnded || Task.isCancelled { return .ended }
                    if guarded.announced > number { return .events }
                    guarded.waiting[waiter] = continuation
                    return nil
                }
                if let news { continuation.resume(returning: news) }
            }
        } onCancel: {
            let continuation = self.guarded.withLock { $0.waiting.removeValue(forKey: waiter) }
            continuation?.resume(returning: .ended)
        }
    }

    // MARK: - What is read

    /// The number of the event that will be next.
    var next: UInt64 { self.guarded.withLock { $0.ring.end } }

    /// Where a reader begins that has seen everything up to that `Last-Event-ID`, or nothing.
    func start(after id: String?) -> FeedStart {
        self.guarded.withLock { guarded in
            let gone = guarded.gone ?? []
            guard let latest = guarded.latest, let head = latest.cursor.flatMap({ Cursor($0) })
            else { return .unknown(gone) }
            let end = FeedPlace(next: guarded.ring.end, cursor: head)
            guard let id else { return .at(end, latest.stateEvent() + gone) }
            guard let cursor = Cursor(id) else {
                return .at(end, latest.stateEvent(resync: "unknown") + gone)
            }
            if let next = guarded.ring.next(after: cursor) {
                return .at(FeedPlace(next: next, cursor: cursor), [])
            }
            guard cursor.epoch == head.epoch else {
                return .at(end, latest.stateEvent(resync: "restarted") + gone)
            }
            guard cursor.seq < head.seq else {
                return .at(end, latest.stateEvent(resync: "unknown") + gone)
            }
            return .before(cursor, upTo: head.seq)
        }
    }

    /// The state instead of what a reader has missed.
    func resync(after cursor: Cursor?, because reason: String) -> (FeedPlace, [UInt8]) {
        self.guarded.withLock { $0.resync(after: cursor, because: reason) }
    }

    /// Returns what follows a place, and moves the place on; empty if nothing follows.
    func read(_ place: inout FeedPlace) -> [UInt8] {
        self.guarded.withLock { guarded in
            guard place.next >= guarded.ring.first else {
                let (next, bytes) = guarded.resync(after: place.cursor, because: "lagged")
                place = next
                return bytes
            }
            let entries = guarded.ring.entries(from: place.next, bytes: Self.portion)
            place.next += UInt64(entries.count)
            place.cursor = entries.last { $0.cursor != nil }?.cursor ?? place.cursor
            return entries.flatMap(\.bytes)
        }
    }
}

extension Feed.Guarded {
    fileprivate mutating func append(_ event: ServerEvent) {
        self.ring.append(
            EventRing.Entry(
                cursor: event.cursor.flatMap { Cursor($0) },
                isChange: event.kind == .change,
                bytes: event.bytes
            )
        )
    }

    fileprivate mutating func takeWaiting() -> [CheckedContinuation<FeedNews, Never>] {
        defer { self.waiting = [:] }
        return Array(self.waiting.values)
    }

    fileprivate func resync(after cursor: Cursor?, because reason: String) -> (FeedPlace, [UInt8]) {
        let head = self.latest?.cursor.flatMap { Cursor($0) }
        var missed: UInt64?
        if let cursor, let head, cursor.epoch == head.epoch, cursor.seq <= head.seq {
            missed = head.seq - cursor.seq
        }
        let state = self.latest?.stateEvent(resync: reason, missed: missed) ?? []
        return (FeedPlace(next: self.ring.end, cursor: head), state + (self.gone ?? []))
    }
}
