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
