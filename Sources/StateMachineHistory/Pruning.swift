import StateMachineCore

/// Decides which of the oldest rows to remove next; removes nothing.
///
/// There are too many, the database is too large, or they are too old.
///
/// Their age is by the wall clock, which may be wrong, for example at a start. If it has advanced
/// by more than a week since the newest row was made, or since it was last trusted, no row is
/// removed for its age until it has advanced for another day.
struct Pruning {
    /// How many rows are removed at a time, between two commits.
    ///
    /// 1024: as many as the gate commits at a time, so that pruning keeps up. Not tuned.
    static let step: UInt64 = 1024

    /// How much of a database that is too large is removed at a time, in bytes.
    ///
    /// 4 MiB: what is written between two looks at its size, so that pruning keeps up. Not tuned.
    static let stepBytes: UInt64 = 4 << 20

    private let keep: UInt64
    private let bytes: UInt64
    private let days: Int64
    /// The time that was last trusted.
    private var believed: WallTime
    /// Since when a later time is not; nil: it is.
    private var doubtedSince: WallTime?
    /// When nothing was found to be too old; not checked again for an hour, unless ``look()`` says
    /// so.
    private var lookedAt: WallTime?

    /// - Parameters:
    ///   - options: what to keep.
    ///   - newest: when the newest row was made.
    init(_ options: HistoryOptions, newest: WallTime) {
        self.believed = newest
        self.keep = UInt64(max(1, options.keepChanges))
        self.bytes = UInt64(max(1, options.keepBytes))
        self.days = Int64(options.keepDays)
    }

    /// Which rows to remove next; the newest always stays.
    ///
    /// - Parameters:
    ///   - oldest: the first row.
    ///   - newest: the last row.
    ///   - size: the bytes that they take.
    ///   - now: the present time.
    ///   - firstSince: finds the first of some rows made at a time or later, one past them if there is none.
    /// - Returns: before which row to remove; nil if there is nothing to remove.
    mutating func next(
        oldest: UInt64,
        newest: UInt64,
        size: UInt64,
        now: WallTime,
        firstSince: (WallTime, Range<UInt64>) throws -> UInt64
    ) rethrows -> UInt64? {
        guard oldest < newest else { return nil }
        let limit = min(newest, oldest + Self.step)
        // A hundredth above the limit, so that not every commit has a row to remove.
        if newest - oldest + 1 > self.keep + min(self.keep / 100, Self.step) {
            return min(limit, newest + 1 - self.keep)
        }
        if size > self.bytes {
            let average = max(1, size / (newest - oldest + 1))
            let excess = min(size - self.bytes, Self.stepBytes)
            return min(limit, oldest + max(1, excess / average))
        }
        if let lookedAt, abs(now.microseconds - lookedAt.microseconds) < 3_600_000_000 {
            return nil
        }
        guard self.believes(now) else { return nil }
        let oldestTime = WallTime(microseconds: now.microseconds - self.days * 86_400_000_000)
        let first = try firstSince(oldestTime, oldest..<limit)
        if first < limit || limit == newest { self.lookedAt = now }
        return first > oldest ? first : nil
    }

    private mutating func believes(_ now: WallTime) -> Bool {
        if now.microseconds - self.believed.microseconds > ClockDoubt.longestPause {
            guard let since = self.doubtedSince, since <= now else {
                self.doubtedSince = now
                return false
            }
            guard now.microseconds - since.microseconds >= ClockDoubt.length else { return false }
        }
        self.doubtedSince = nil
        self.believed = now
        return true
    }

    /// Makes it look for old rows next time, however recent the last look was.
    mutating func look() { self.lookedAt = nil }
}
