/// Changes of the past.
package struct HistoryCall: Hashable, Sendable {
    package var since: String?
    /// At most so many; nil leaves it to the daemon.
    package var limit: UInt64?
    package var only: PatternList?

    /// How many the daemon sends at most.
    package var most: UInt64 { self.limit ?? RequestLimits.defaultHistoryChanges }
}

extension HistoryCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            since: try keys.string(.since),
            limit: try keys.count(.limit, atMost: RequestLimits.historyChanges)
                ?? RequestLimits.defaultHistoryChanges,
            only: try keys.patterns(.only)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.since, self.since)
        members.add(.limit, self.limit)
        members.add(.only, self.only)
    }
}
