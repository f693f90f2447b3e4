/// Outcomes to wait for.
package struct WaitCall: Hashable, Sendable {
    package var until: PatternList
    /// Outcomes that fail the wait; they take precedence over `until`.
    package var fail = PatternList([])
    package var since: String?
    /// How long, in milliseconds; nil waits for ever.
    package var timeoutMs: UInt64?
}

extension WaitCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            until: try keys.needed(.until, .wait, keys.patterns(.until)),
            fail: try keys.patterns(.fail) ?? PatternList([]),
            since: try keys.string(.since),
            timeoutMs: try keys.count(.timeoutMs)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.until, self.until)
        members.add(.fail, self.fail)
        members.add(.since, self.since)
        members.add(.timeoutMs, self.timeoutMs)
    }
}

/// A subscription.
package struct WatchCall: Hashable, Sendable {
    /// Where the reader left off, as it gave it.
    package var since: String?
    /// Which states it wants; nil means all.
    package var only: PatternList?
    package var mode: WatchMode
    /// The least time between two lines, in milliseconds; 0 for none.
    package var everyMs: UInt64
    /// How long a silence may last, in milliseconds; nil: for ever.
    package var beatMs: UInt64?

    package init(
        since: String? = nil,
        only: PatternList? = nil,
        mode: WatchMode = .all,
        everyMs: UInt64 = 0,
        beatMs: UInt64? = nil
    ) {
        self.since = since
        self.only = only
        self.mode = mode
        self.everyMs = everyMs
        self.beatMs = beatMs
    }

    /// The refusal of beats that are too frequent.
    package static let beatTooShort = WireError(
        .badRequest,
        "beatMs must be at least \(RequestLimits.leastBeatMs); leave it out for no beats"
    )

    /// Reads a subscription.
    ///
    /// A server refuses a shorter time than ``RequestLimits/leastBeatMs``, but not of a watch that
    /// an earlier version has begun and handed over.
    init(_ keys: RequestKeys) throws(WireError) {
        let mode = try keys.choice(.mode, of: WatchMode.self)
        let beatMs = try keys.count(.beatMs)
        guard beatMs != 0 else { throw Self.beatTooShort }
        self.init(
            since: try keys.string(.since),
            only: try keys.patterns(.only),
            mode: mode ?? .all,
            everyMs: try keys.count(.everyMs) ?? 0,
            beatMs: beatMs
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.since, self.since)
        members.add(.only, self.only)
        members.add(.mode, self.mode == .all ? nil : self.mode.rawValue)
        members.add(.everyMs, self.everyMs == 0 ? nil : self.everyMs)
        members.add(.beatMs, self.beatMs)
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

extension Duration {
    /// Milliseconds for a request: rounded up, so that no wait ends early; 0 if negative.
    var wholeMilliseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = self.components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        // The protocol's integers stay below 2^53; that many milliseconds are 285,000 years.
        let bound = Int64(RequestLimits.integerBound) - 1
        return UInt64(seconds >= bound / 1000 ? bound : seconds * 1000 + fraction)
    }
}
