/// Since when the deadlines of the newest stays count: what a history writes down and a server shows, so that both
/// say the same of each change.
///
/// Guarded state, behind `known`: what has begun, in the order of the changes from which on it holds.
package final class StayStarts: Sendable {
    package let clock: any StayClock
    private let known: Lock<Known>

    /// From that change on a stay counts from there.
    private struct Entry: Sendable {
        let seq: UInt64
        let start: StayStart
    }

    private struct Known: Sendable {
        var entries: [Entry]
        /// The newest change of which somebody has asked: what it shows is settled.
        var settled: UInt64 = 0

        /// Entries that are kept.
        ///
        /// 6144: as many as the proposals that may wait at a gate and two of its groups, which is all that
        /// may have been evaluated and not been shown.
        private static let limit = 6144

        mutating func insert(_ entry: Entry) {
            if let last = self.entries.last, last.seq > entry.seq {
                self.entries.insert(entry, at: self.end(of: entry.seq))
            } else if let last = self.entries.last, last.seq == entry.seq,
                last.start.stay == entry.start.stay
            {
                self.entries[self.entries.count - 1] = entry
            } else {
                self.entries.append(entry)
            }
            if self.entries.count == 2 * Self.limit { self.entries.removeFirst(Self.limit) }
        }

        /// The index behind the last entry that holds at that change.
        func end(of seq: UInt64) -> Int {
            if let last = self.entries.last, last.seq <= seq { return self.entries.count }
            var (low, high) = (0, self.entries.count)
            while low < high {
                let middle = (low + high) / 2
                if self.entries[middle].seq <= seq { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// The newest start of that stay that holds at that change; nil if it is not known.
        func start(of stay: UInt64, at seq: UInt64) -> StayStart? {
            var index = self.end(of: seq)
            while index > 0 {
                index -= 1
                if self.entries[index].start.stay == stay { return self.entries[index].start }
                // No stay counts from before it began.
                if self.entries[index].seq < stay { return nil }
            }
            return nil
        }
    }

    /// - Parameters:
    ///   - start: since when the present stay counts.
    ///   - clock: measures them all.
    package init(_ start: StayStart, clock: any StayClock) {
        self.clock = clock
        self.known = Lock(Known(entries: [Entry(seq: start.stay, start: start)]))
    }

    /// Since when the stay counts in which a change was made, or which it began; the first who asks settles it.
    ///
    /// - Parameters:
    ///   - stay: the stay.
    ///   - seq: the change.
    ///   - stamp: the time that it shows.
    /// - Returns: since when.
    package func start(of stay: UInt64, at seq: UInt64, _ stamp: WallTime) -> StayStart {
        let found = self.known.withLock { known in
            known.settled = max(known.settled, seq)
            return known.start(of: stay, at: seq)
        }
        if let found { return found }
        let start = StayStart(stay: stay, moment: self.clock.moment(ofChangeAt: stamp))
        return self.known.withLock { known in
            // Another may have been faster.
            if let found = known.start(of: stay, at: seq) { return found }
            known.insert(Entry(seq: stay, start: start))
            return start
        }
    }

    /// Since when that stay counts now; nil if that is not known.
    package func newest(of stay: UInt64) -> StayStart? {
        self.known.withLock { $0.start(of: stay, at: .max) }
    }

    /// The deadline of the stay begins anew, after that change and before the next.
    package func renew(_ stay: UInt64, after seq: UInt64) {
        let start = StayStart(stay: stay, moment: self.clock.moment)
        self.known.withLock { $0.insert(Entry(seq: seq + 1, start: start)) }
    }

    /// The stay counts from there for all changes that nobody has asked about.
    package func correct(_ start: StayStart) {
        self.known.withLock { $0.insert(Entry(seq: $0.settled + 1, start: start)) }
    }

    /// What was to follow that change has not happened.
    package func drop(after seq: UInt64) {
        self.known.withLock { known in
            known.entries.removeAll { $0.start.stay > seq || $0.seq > seq + 1 }
            known.settled = min(known.settled, seq)
        }
    }
}
