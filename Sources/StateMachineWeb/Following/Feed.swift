import NIOCore
import StateMachineClient
import StateMachineProtocol
import Synchronization

/// Passes what happens to one machine to any number of readers, each at its own position; one that
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
        /// The event that says that the daemon is gone, while it is, and since when.
        var gone: ServerEvent?
        var absence: Absence?
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

    /// Since when the daemon cannot be reached; nil while it can, or nothing has been heard yet.
    var absence: Absence? { self.guarded.withLock { $0.absence } }

    // MARK: - What happens

    /// Takes a line from the daemon.
    func take(_ line: Line) {
        self.guarded.withLock { guarded in
            if guarded.gone != nil {
                (guarded.gone, guarded.absence) = (nil, nil)
                guarded.ring.append(.back)
            }
            switch line.kind {
            case .change, .state:
                guarded.latest = line
                let kind: ServerEvent.Kind = line.kind == .change ? .change : .state
                guarded.ring.append(ServerEvent(kind, line))
            case .declared:
                guarded.ring.append(ServerEvent(kind: .declared, data: line.text))
            case .other where line.isUp != nil:
                guarded.ring.append(ServerEvent(kind: .shared, data: line.text))
            case .live, .beat, .reply, .ask, .bye, .other: break
            }
        }
    }

    /// Notes that there is no connection to the daemon, for that reason; the flag says whether it said that it ends, and
    /// not that it restarts.
    func lost(_ reason: String, hasFarewell: Bool = false) {
        self.guarded.withLock { guarded in
            guard guarded.gone == nil else { return }
            let data = JSONValue.object([JSONMember("message", .string(reason))])
            let event = ServerEvent(kind: .gone, data: data.description)
            (guarded.gone, guarded.absence) = (
                event, Absence(since: .now, hasFarewell: hasFarewell)
            )
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
            let end = FeedPosition(next: guarded.ring.end, cursor: head)
            func now(_ reason: String?) -> FeedStart {
                .at(end, [latest.stateEvent(resync: reason)] + gone)
            }
            guard let id else { return now(nil) }
            guard let cursor = Cursor(id) else { return now("unknown") }
            if let next = guarded.ring.next(after: cursor) {
                return .at(FeedPosition(next: next, cursor: cursor), [])
            }
            guard cursor.epoch == head.epoch else { return now("restarted") }
            guard cursor.seq < head.seq else { return now("unknown") }
            return .before(cursor, upTo: head.seq)
        }
    }

    /// The state instead of what a reader has missed.
    func resync(after cursor: Cursor?, because reason: String) -> (FeedPosition, [ServerEvent]) {
        self.guarded.withLock { $0.resync(after: cursor, because: reason) }
    }

    /// Returns what follows a position, and moves the position on; empty if nothing follows.
    func read(_ position: inout FeedPosition) -> [ServerEvent] {
        self.guarded.withLock { guarded in
            guard position.next >= guarded.ring.first else {
                let (next, events) = guarded.resync(after: position.cursor, because: "lagged")
                position = next
                return events
            }
            let events = guarded.ring.events(from: position.next, bytes: Self.portion)
            position.next += UInt64(events.count)
            position.cursor = events.last { $0.cursor != nil }?.cursor ?? position.cursor
            return events
        }
    }
}

extension Feed.Guarded {
    fileprivate func resync(
        after cursor: Cursor?,
        because reason: String
    ) -> (FeedPosition, [ServerEvent]) {
        let head = self.latest?.cursor.flatMap { Cursor($0) }
        var missed: UInt64?
        if let cursor, let head, cursor.epoch == head.epoch, cursor.seq <= head.seq {
            missed = head.seq - cursor.seq
        }
        let state = self.latest.map { [$0.stateEvent(resync: reason, missed: missed)] } ?? []
        let gone = self.gone.map { [$0] } ?? []
        return (FeedPosition(next: self.ring.end, cursor: head), state + gone)
    }
}

extension ServerEvent {
    /// A line of the daemon as it came.
    init(_ kind: Kind, _ line: Line) {
        self.init(kind: kind, cursor: line.cursor.flatMap { Cursor($0) }, data: line.text)
    }
}

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

    /// The number of the event that directly follows that position; nil if it is not kept.
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

/// An event of a stream, as the HTML standard writes it (9.2.6, "Interpreting an event stream").
struct ServerEvent: Sendable {
    /// What happened; a browser listens to each by its name.
    enum Kind: String {
        /// The state as it is now.
        case state
        /// A transition.
        case change
        /// The daemon cannot be reached.
        case gone
        /// The daemon can be reached again; what it has to tell follows.
        case back
        /// Another file declares the states from here on.
        case declared
        /// Whether the state is what all hosts of the machine have, from here on.
        case shared
    }

    /// The beginning of a stream: after how many milliseconds to reconnect when it has ended.
    ///
    /// 500 ms: a restart of the service takes less.
    static let beginning = Array("retry: 500\n\n".utf8)

    /// Shows that a stream without news is there.
    ///
    /// An event and not a comment, since a browser keeps comments from the page.
    static let beat = Array("event: beat\ndata: {}\n\n".utf8)

    static let back = Self(kind: .back, data: "{}")

    let kind: Kind
    /// The position to continue from after it; nil leaves the position as it was.
    var cursor: Cursor?
    /// A JSON object on one line.
    let data: String

    /// In the stream of one machine, with the cursor as its id.
    var bytes: [UInt8] { self.bytes(id: self.cursor?.description, instance: nil) }

    /// In a stream of several machines, where `data` begins with the machine's name.
    func bytes(id: String?, instance: JSONValue?) -> [UInt8] {
        let rest = self.data.utf8.dropFirst()
        let name = instance.map { "\"instance\":\($0)\(rest.count > 1 ? "," : "")" } ?? ""
        let id = id.map { "id: \($0)\n" } ?? ""
        let head = "\(id)event: \(self.kind.rawValue)\ndata: {\(name)"
        return Array(head.utf8) + rest + [0x0a, 0x0a]
    }
}

/// How far a reader of a feed has come.
struct FeedPosition: Sendable {
    /// The number of the event that it reads next.
    var next: UInt64
    /// The last position in the daemon's numbering that it was given.
    var cursor: Cursor?
}

/// What a new reader gets.
enum FeedStart: Sendable {
    /// These events, and then what follows the position.
    case at(FeedPosition, [ServerEvent])
    /// What it has missed is no longer here; the daemon may have it, up to that number.
    case before(Cursor, upTo: UInt64)
    /// The state is not known yet; the events are sent meanwhile.
    case unknown([ServerEvent])
}
