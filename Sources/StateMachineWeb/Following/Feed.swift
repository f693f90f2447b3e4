import StateMachineClient
import StateMachineProtocol
import Synchronization

/// What happens to one machine, told to any number of readers: each is at a place of its own, and one that stands still
/// costs nobody anything but itself.
///
/// Guarded state, behind one lock: the ring, the last line that told the state, whether the daemon is gone, and who
/// waits. Nobody is resumed while it is held.
final class Feed: Sendable {
    /// Bytes that a reader is given at a time.
    ///
    /// 64 KiB: what waits for a browser that has stopped reading.
    private static let portion = 1 << 16

    fileprivate struct Guarded {
        var ring = EventRing()
        /// Those before it have been announced to who waits.
        var announced: UInt64 = 0
        var latest: Line?
        /// The event that tells of it, while the daemon is gone.
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

    /// The daemon has sent a line.
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

    /// There is no connection to the daemon, for that reason.
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

    /// Tells those who wait of what there is, and whether there was anything.
    func announce() {
        let waiting: [CheckedContinuation<FeedNews, Never>] = self.guarded.withLock { guarded in
            guard guarded.announced < guarded.ring.end else { return [] }
            guarded.announced = guarded.ring.end
            return guarded.takeWaiting()
        }
        for continuation in waiting { continuation.resume(returning: .events) }
    }

    /// Lets those who wait say that they are still there.
    func beat() {
        let waiting = self.guarded.withLock { $0.takeWaiting() }
        for continuation in waiting { continuation.resume(returning: .beat) }
    }

    /// There will be no more.
    func finish() {
        let waiting = self.guarded.withLock { guarded in
            guarded.isEnded = true
            return guarded.takeWaiting()
        }
        for continuation in waiting { continuation.resume(returning: .ended) }
    }

    /// Waits until there is something from that number on.
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

    /// What follows a place, which moves on; nothing if there is nothing.
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
