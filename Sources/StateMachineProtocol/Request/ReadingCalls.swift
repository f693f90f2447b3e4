public import StateMachineCore

/// The present state.
package struct GetCall: RequestArguments {
    /// Whether the answer says what whoever asks may do there, and what is against the rest.
    package var showsPossible = false
    /// Whether it is asked first whether that is where the machine is for all hosts that share it.
    package var isFresh = false

    package init() {}

    static let arguments: RequestTable<Self> = [
        .init(.possible, \.showsPossible, .bool, unless: false) { $0.showsPossible = $1 },
        .init(.fresh, \.isFresh, .bool, unless: false) { $0.isFresh = $1 },
    ]
}

/// Outcomes to wait for.
package struct WaitCall: RequestArguments {
    package var until = PatternList([])
    /// Outcomes that fail the wait; they take precedence over `until`.
    package var fail = PatternList([])
    package var since: String?
    /// How long, in milliseconds; nil waits for ever.
    package var timeoutMs: UInt64?

    static let arguments: RequestTable<Self> = [
        .init(.until, \.until, .patterns) { $0.until = $1 },
        .init(.fail, \.fail, .patterns, unless: PatternList([])) { $0.fail = $1 },
        .init(.since, \.since, .string) { $0.since = $1 },
        .init(.timeoutMs, \.timeoutMs, .count) { $0.timeoutMs = $1 },
    ]
}

/// A subscription.
package struct WatchCall: RequestArguments {
    /// Where the reader left off, as it gave it.
    package var since: String?
    /// Which states it wants; nil means all.
    package var only: PatternList?
    package var mode = WatchMode.all
    /// The least time between two lines, in milliseconds; 0 for none.
    package var everyMs: UInt64 = 0
    /// How long a silence may last, in milliseconds; nil: for ever.
    package var beatMs: UInt64?

    package init() {}

    static let arguments: RequestTable<Self> = [
        .init(.since, \.since, .string) { $0.since = $1 },
        .init(.only, \.only, .patterns) { $0.only = $1 },
        .init(.mode, \.mode, .choice, unless: .all) { $0.mode = $1 },
        .init(.everyMs, \.everyMs, .count, unless: 0) { $0.everyMs = $1 },
        .init(.beatMs, \.beatMs, .count) { $0.beatMs = $1 },
    ]

    /// The refusal of beats that are too frequent.
    package static let beatTooShort = WireError(
        .badRequest,
        "beatMs must be at least \(RequestLimits.leastBeatMs); leave it out for no beats"
    )

    /// A server refuses a shorter time than ``RequestLimits/leastBeatMs``, but not of a watch that
    /// an earlier version has begun and handed over.
    func complete(_ operation: Operation) throws(WireError) {
        guard self.beatMs != 0 else { throw Self.beatTooShort }
    }
}

/// Which of its changes a watch gets.
package enum WatchMode: String, CaseIterable, Hashable, Sendable {
    /// Every one.
    case all
    /// The newest of those that have gathered when the reader can take a line.
    case latest
}

/// How often a watch sends lines.
public struct Pace: Hashable, Sendable {
    /// Whether a change that is still unsent when a newer one comes is left out; ``Line/skipped``
    /// counts those.
    public var isLatest: Bool
    /// The shortest time between two changes; nil: no limit.
    public var every: Duration?
    /// How long a silence lasts before the daemon sends a sign of life; nil: it never does.
    public var beat: Duration?

    /// By default every change at once.
    public init(isLatest: Bool = false, every: Duration? = nil, beat: Duration? = nil) {
        self.isLatest = isLatest
        self.every = every
        self.beat = beat
    }
}

/// Past changes.
package struct HistoryCall: RequestArguments {
    package var since: String?
    /// How many at most; nil leaves that to the daemon.
    package var limit: UInt64?
    package var only: PatternList?
    /// Which end to start from.
    package var order = Request.HistoryOrder.oldest
    /// Only what comes after it; for a time: what was made then or later.
    package var after: HistoryPosition?
    /// Only what comes before it.
    package var before: HistoryPosition?
    /// Only changes that this actor requested.
    package var by: Actor?
    /// Only changes whose cause contains this text.
    package var cause: String?
    /// Whether to send an outline of the changes instead of the changes.
    package var isOutline = false
    /// Whether to tell how far a search has come that finds nothing for a while.
    package var reportsProgress = false

    /// All changes, the oldest first.
    package static let all = HistoryCall()

    /// Who requested a change.
    package enum Actor: Hashable, Sendable {
        /// The user of that uid.
        case user(UInt32)
        /// A command or a unit of that name.
        case program(String)
    }

    /// The most changes that the daemon sends.
    package var most: UInt64 { self.limit ?? RequestLimits.defaultHistoryChanges }

    /// Whether it requests more than what follows a cursor.
    package var isSearch: Bool {
        self.order == .newest || self.after != nil || self.before != nil || self.by != nil
            || self.cause != nil || self.isOutline || self.reportsProgress
    }

    static let arguments: RequestTable<Self> = [
        .init(.since, \.since, .string) { $0.since = $1 },
        .init(.limit, \.limit, .count(atMost: RequestLimits.historyChanges)) { $0.limit = $1 },
        .init(.only, \.only, .patterns) { $0.only = $1 },
        .init(.order, \.order, .choice, unless: .oldest) { $0.order = $1 },
        .init(.after, \.after, .position) { $0.after = $1 },
        .init(.before, \.before, .position) { $0.before = $1 },
        .init(.by, \.by, .actor) { $0.by = $1 },
        .init(.cause, \.cause, .text) { $0.cause = $1 },
        .init(.outline, \.isOutline, .bool, unless: false) { $0.isOutline = $1 },
        .init(.progress, \.reportsProgress, .bool, unless: false) { $0.reportsProgress = $1 },
    ]

    mutating func complete(_ operation: Operation) throws(WireError) {
        guard self.since == nil || self.after == nil else {
            throw WireError(.badRequest, "since and after cannot be used together; give one")
        }
        self.limit = self.most
        // An outline contains all changes, in order.
        let others: [(RequestKey, Bool)] = [
            (.only, self.only != nil), (.order, self.order == .newest), (.by, self.by != nil),
            (.cause, self.cause != nil),
        ]
        guard self.isOutline, let other = others.first(where: \.1)?.0 else { return }
        throw WireError(
            .badRequest,
            "an outline covers all changes, the oldest first; leave \(other.rawValue) out"
        )
    }
}

extension RequestForm<HistoryCall.Actor> {
    /// A uid, or the name of a command or a unit.
    static var actor: Self {
        let user = Self(
            "a uid or the name of a command or a unit",
            { $0.integer(at: $1).flatMap { UInt32(exactly: $0) }.map { .user($0) } },
            { actor in
                switch actor {
                case .user(let uid): .integer(uid)
                case .program(let name): .string(name)
                }
            }
        )
        let program = RequestForm<String>.text
        return Self(
            read: { (key, text, place) throws(WireError) in
                guard text.kind(at: place) == .string else {
                    return try user.read(key, text, place)
                }
                return try program.read(key, text, place).map { .program($0) }
            },
            write: user.write
        )
    }
}

extension RequestForm<HistoryPosition> {
    static var position: Self {
        Self(
            "a time (RFC 3339), a cursor or a seq",
            { HistoryPosition($0, at: $1) },
            { $0.written }
        )
    }
}

/// A place among old changes.
public enum HistoryPosition: Hashable, Sendable {
    /// A change by its number.
    case seq(UInt64)
    /// A change by a cursor from a line.
    case cursor(String)
    /// A moment, between two changes.
    case time(WallTime)

    /// A place as it appears in a request: a number, or a string with a time or a cursor; else nil.
    init?(_ line: JSONText, at place: JSONText.Place) {
        if let seq = line.count(at: place) {
            self = .seq(seq)
        } else if let text = line.string(at: place) {
            if let time = WallTime(reading: text) {
                self = .time(time)
            } else if Cursor(text) != nil {
                self = .cursor(text)
            } else {
                return nil
            }
        } else {
            return nil
        }
    }

    var written: JSONValue {
        switch self {
        case .seq(let seq): .integer(seq)
        case .cursor(let cursor): .string(cursor)
        case .time(let time): .string(time.rfc3339)
        }
    }

    /// The moment, if it is one.
    package var time: WallTime? {
        if case .time(let time) = self { time } else { nil }
    }
}

// Reading: the state, its changes, its past, and the daemon.
extension Request {
    /// Requests the current state.
    public static let get = Request(.get(GetCall()))
    /// Requests the current state, what may be done there, and what is against the rest.
    package static let getPossible: Request = {
        var call = GetCall()
        call.showsPossible = true
        return Request(.get(call))
    }()
    /// Requests the current state, confirmed by a quorum where several hosts share the machine; refused if there is none.
    public static let getFresh: Request = {
        var call = GetCall()
        call.isFresh = true
        return Request(.get(call))
    }()
    /// Ends the watch that has no id.
    public static let unwatch = Request(.unwatch)
    /// Requests the states, operations and limits.
    public static let describe = Request(.describe)
    /// Requests the counters and the connections.
    public static let stats = Request(.stats)
    /// Has the daemon read its settings and the machine's file again, as its own user and root may.
    public static let reload = Request(.reload)
    /// Requests the hosts that share the machine.
    public static let hosts = Request(.hosts)
    /// Requests a sign of life.
    public static let ping = Request(.ping)
    /// Requests a short text for people.
    public static let help = Request(.help)

    /// Requests every change.
    ///
    /// - Parameters:
    ///   - since: the cursor of the last line seen; later changes are replayed.
    ///   - only: which states; if empty, every state.
    ///   - pace: how often lines are sent; rounded up to milliseconds.
    /// - Returns: the request.
    public static func watch(
        since: String? = nil,
        only: [Pattern] = [],
        pace: Pace = Pace()
    ) -> Request {
        var call = WatchCall()
        call.since = since
        call.only = only.isEmpty ? nil : PatternList(only)
        call.mode = pace.isLatest ? .latest : .all
        call.everyMs = pace.every?.millisecondsRoundedUp ?? 0
        call.beatMs = pace.beat?.millisecondsRoundedUp
        return Request(.watch(call))
    }

    /// Requests an answer once a state is reached.
    ///
    /// - Parameters:
    ///   - until: the states to wait for.
    ///   - fail: the states that fail the wait; they take precedence.
    ///   - since: changes after this cursor are evaluated too.
    ///   - timeout: rounded up to milliseconds; nil waits for ever.
    /// - Returns: the request.
    public static func wait(
        until: [Pattern],
        fail: [Pattern] = [],
        since: String? = nil,
        timeout: Duration? = nil
    ) -> Request {
        let timeoutMs = timeout?.millisecondsRoundedUp
        return Request(
            .wait(
                WaitCall(
                    until: PatternList(until),
                    fail: PatternList(fail),
                    since: since,
                    timeoutMs: timeoutMs
                )
            )
        )
    }

    /// Which end of the past an answer starts from.
    public enum HistoryOrder: String, CaseIterable, Hashable, Sendable {
        /// The oldest change first.
        case oldest
        /// The newest change first.
        case newest
    }

    /// Requests the changes that the daemon still has.
    ///
    /// - Parameters:
    ///   - since: only those after this cursor; an unusable one is ignored, and the reply says so.
    ///   - limit: how many at most; the daemon has a limit of its own.
    ///   - only: which states; if empty, every state.
    ///   - order: which end to start from.
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - uid: only those of this user.
    ///   - program: only those of commands or units of this name, if no user is given.
    ///   - cause: only those whose cause contains this text; at most 256 bytes of UTF-8.
    /// - Returns: the request.
    public static func history(
        since: String? = nil,
        limit: UInt64? = nil,
        only: [Pattern] = [],
        order: HistoryOrder = .oldest,
        after: HistoryPosition? = nil,
        before: HistoryPosition? = nil,
        by uid: UInt32? = nil,
        program: String? = nil,
        cause: String? = nil
    ) -> Request {
        Request(
            .history(
                HistoryCall(
                    since: since,
                    limit: limit,
                    only: only.isEmpty ? nil : PatternList(only),
                    order: order,
                    after: after,
                    before: before,
                    by: uid.map { .user($0) } ?? program.map { .program($0) },
                    cause: cause
                )
            )
        )
    }

    /// Requests an outline of the changes that the daemon still has: which states were entered, and
    /// when.
    ///
    /// - Parameters:
    ///   - after: only those after this change, or made at this time or later.
    ///   - before: only those before this change, or made before this time.
    ///   - limit: how many at most; the daemon has a limit of its own.
    /// - Returns: the request.
    public static func outline(
        after: HistoryPosition? = nil,
        before: HistoryPosition? = nil,
        limit: UInt64? = nil
    ) -> Request {
        Request(.history(HistoryCall(limit: limit, after: after, before: before, isOutline: true)))
    }

    /// The same request, of a search that tells how far it has come while it finds nothing.
    package var reportingProgress: Request {
        guard case .history(var call) = self.call else { return self }
        call.reportsProgress = true
        return Request(id: self.id, .history(call))
    }
}

extension Duration {
    /// Milliseconds for a request: rounded up, so that no wait ends early; 0 if negative.
    var millisecondsRoundedUp: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = self.components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        // The protocol's integers stay below 2^53; that many milliseconds are 285,000 years.
        let bound = Int64(RequestLimits.integerBound) - 1
        return UInt64(seconds >= bound / 1000 ? bound : seconds * 1000 + fraction)
    }
}
