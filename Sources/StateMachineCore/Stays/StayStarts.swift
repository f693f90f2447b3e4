/// The moments from which the deadlines of the newest stays count: shared by a history, which
/// writes them down, and a server, which shows them, so that both agree about each change.
///
/// Guarded state, behind `known`: the starts, ordered by the change from which on each holds.
package final class StayStarts: Sendable {
    package let clock: any StayClock
    private let known: Lock<Known>

    /// From the change `seq` on, a stay counts from `start`.
    private struct Entry: Sendable {
        let seq: UInt64
        let start: StayStart
    }

    private struct Known: Sendable {
        var entries: [Entry]
        /// The newest start that was worked out for a stay that begins anew, and how often it had by then; it need not have
        /// been entered.
        var ahead: (start: StayStart, renewals: UInt32)?
        /// The newest change that was asked about: what it shows is settled.
        var settled: UInt64 = 0

        /// Entries that are kept.
        ///
        /// 6144: as many as the proposals that may wait at a gate and two of its groups, which is all that
        /// may have been evaluated and not been shown.
        private static let limit = 6144

        mutating func insert(_ entry: Entry) {
            if let last = self.entries.last, last.seq > entry.seq {
                self.entries.insert(entry, at: self.index(behind: entry.seq))
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
        func index(behind seq: UInt64) -> Int {
            if let last = self.entries.last, last.seq <= seq { return self.entries.count }
            var (low, high) = (0, self.entries.count)
            while low < high {
                let middle = (low + high) / 2
                if self.entries[middle].seq <= seq { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// From when on times of groups count that were entered with those changes, as far as it is known.
        func starts(ofGroupsAt changes: [UInt64], before seq: UInt64) -> [StayStart] {
            changes.compactMap { change in
                // The newest entry knows it: a group is left with a stay.
                let entries = self.entries[..<self.index(behind: seq)].reversed()
                return entries.lazy.compactMap { entry in
                    entry.start.groups.first { $0.stay == change }
                        ?? (entry.start.stay == change ? entry.start.withoutGroups : nil)
                }.first
            }
        }

        /// The start of a stay that begins at that moment.
        func beginning(
            of stay: UInt64,
            at moment: StayMoment,
            before seq: UInt64,
            _ groups: [UInt64]
        ) -> StayStart {
            StayStart(
                stay: stay,
                moment: moment,
                groups: self.starts(ofGroupsAt: groups.filter { $0 != stay }, before: seq)
            )
        }

        /// The newest start of that stay that holds at that change; nil if it is not known.
        func start(of stay: UInt64, at seq: UInt64) -> StayStart? {
            var index = self.index(behind: seq)
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
    ///   - start: the start of the present stay.
    ///   - clock: measures all stays.
    package init(_ start: StayStart, clock: any StayClock) {
        self.clock = clock
        let entry = Entry(seq: start.stay, start: start)
        // What is corrected later counts from behind it.
        self.known = Lock(Known(entries: [entry], settled: start.stay))
    }

    /// The start of the stay in which a change was made, or which it began; the first call settles
    /// it.
    ///
    /// - Parameters:
    ///   - stay: the stay.
    ///   - seq: the change.
    ///   - stamp: the time that it shows.
    ///   - groups: the changes from which times of groups count.
    /// - Returns: the start.
    package func start(
        of stay: UInt64,
        at seq: UInt64,
        _ stamp: WallTime,
        groups: [UInt64] = []
    ) -> StayStart {
        let found = self.known.withLock { known in
            known.settled = max(known.settled, seq)
            return known.start(of: stay, at: seq)
        }
        if let found { return found }
        let moment = self.clock.moment(ofChangeAt: stamp)
        return self.known.withLock { known in
            // Another may have been faster.
            if let found = known.start(of: stay, at: seq) { return found }
            let start = known.beginning(of: stay, at: moment, before: seq, groups)
            known.insert(Entry(seq: stay, start: start))
            return start
        }
    }

    /// The start of the stay in which a change is to be made, which may not come to be: nothing is noted.
    package func foreseenStart(
        of stay: UInt64,
        at seq: UInt64,
        _ stamp: WallTime,
        groups: [UInt64] = []
    ) -> StayStart {
        let moment = self.clock.moment(ofChangeAt: stamp)
        return self.known.withLock { $0.beginning(of: stay, at: moment, before: seq, groups) }
    }

    /// The present start of that stay; nil if not known.
    package func newest(of stay: UInt64) -> StayStart? {
        self.known.withLock { $0.start(of: stay, at: .max) }
    }

    /// That stay's times as they would begin anew now; those of groups, which were entered with such changes, go on.
    func renewal(of stay: UInt64, groups: [UInt64] = [], renewals: UInt32 = 1) -> Renewal {
        let now = self.clock.moment
        let start = self.known.withLock { known in
            // A wall clock may be behind the one by which it has counted until now.
            let last = known.start(of: stay, at: .max)?.moment
            let moment = last.flatMap { $0.uptime > now.uptime ? $0 : nil } ?? now
            let groups = known.starts(ofGroupsAt: groups, before: .max)
            let start = StayStart(stay: stay, moment: moment, groups: groups)
            known.ahead = (start, renewals)
            return start
        }
        return Renewal(start: start, starts: self)
    }

    /// The start of a stay that has begun anew so often, though that may not be entered yet; nil if it is not known.
    package func renewed(_ stay: UInt64, as renewals: UInt32) -> StayStart? {
        self.known.withLock { known in
            known.ahead.flatMap {
                $0.start.stay == stay && $0.renewals == renewals ? $0.start : nil
            }
        }
    }

    /// Restarts the stay's deadline, after that change and before the next.
    fileprivate func renew(_ start: StayStart, after seq: UInt64) {
        self.known.withLock { $0.insert(Entry(seq: seq + 1, start: start)) }
    }

    /// Sets the stay's start for all changes that nobody has asked about.
    package func correct(_ start: StayStart) {
        self.known.withLock { known in
            // It may have begun anew behind changes that nobody asked about.
            let last = known.entries.last { $0.start.stay == start.stay }?.seq ?? 0
            known.insert(Entry(seq: max(known.settled + 1, last), start: start))
        }
    }

    /// Takes over what others have made of a stay, who have the same clock: from the change `seq` on it counts like that.
    package func adopt(_ start: StayStart, from seq: UInt64) {
        self.known.withLock { $0.insert(Entry(seq: seq, start: start)) }
    }

    /// The same where the machine has arrived with that change: nothing from before it counts.
    package func arrive(_ start: StayStart, at seq: UInt64) {
        self.known.withLock { known in
            known = Known(entries: [Entry(seq: seq, start: start)], settled: seq)
        }
    }

    /// Forgets what was to follow that change, since it did not happen.
    package func drop(after seq: UInt64) {
        self.known.withLock { known in
            known.entries.removeAll { $0.start.stay > seq || $0.seq > seq + 1 }
            if let ahead = known.ahead, ahead.start.stay > seq { known.ahead = nil }
            known.settled = min(known.settled, seq)
        }
    }
}

/// A deadline that is to begin anew, and does when that is entered.
struct Renewal: Sendable {
    let start: StayStart
    fileprivate let starts: StayStarts

    /// Has it count from then on, after that change and before the next.
    func enter(after seq: UInt64) { self.starts.renew(self.start, after: seq) }
}
