#if Cluster
package import StateMachineProtocol

/// Whether what a host shows is what the engine had a moment ago, and if not, why.
///
/// It is while a read of the head by a quorum, begun less than a certain time ago, has been come up to. A value that decides and does
/// nothing, and has no clock: an alarm is set when a read is begun, and when it goes off nothing better than that read may be there.
package struct Freshness: Sendable {
    /// Why a host is not fresh, or takes no changes; the first that applies is told.
    package typealias Reason = SharingTrouble

    package enum Event: Hashable, Sendable {
        /// What that read, the `number`th, shows is at that seq, and the host at `own`.
        case seen(number: UInt64, seq: UInt64, own: UInt64)
        /// The host has come up to that seq.
        case reached(UInt64)
        /// As long as a host may be without one has passed since that read was begun.
        case due(number: UInt64)
        case trouble(Reason, isThere: Bool)
        /// The seqs begin again: nothing that was seen counts.
        case beganAgain
    }

    /// What is to be told: nil, that it is fresh; or why it is not.
    package enum News: Hashable, Sendable {
        case up
        case down(Reason)
    }

    private var troubles: Set<Reason> = [.engine, .session]
    /// The newest read that has been come up to.
    private(set) var good: UInt64 = 0
    /// The newest read that was begun too long ago.
    private var overdue: UInt64 = 0
    /// Reads that have not, oldest first.
    private var awaited: [(number: UInt64, seq: UInt64)] = []
    /// Nobody has to be told how it begins.
    private var told = News.down(.engine)

    package init() {}

    /// Why it is not fresh; nil if it is.
    package var reason: Reason? { self.troubles.min() }

    package mutating func thisHappened(_ event: Event) -> News? {
        switch event {
        case .seen(let number, let seq, let own):
            self.awaited.append((number, seq))
            self.reach(own)
        case .reached(let seq): self.reach(seq)
        case .due(let number):
            self.overdue = max(self.overdue, number)
            if self.good <= self.overdue { self.troubles.insert(.engine) }
        case .trouble(let reason, true): self.troubles.insert(reason)
        case .trouble(let reason, false): self.troubles.remove(reason)
        case .beganAgain: self.awaited = []
        }
        let news = self.reason.map { News.down($0) } ?? .up
        guard news != self.told else { return nil }
        self.told = news
        return news
    }

    private mutating func reach(_ seq: UInt64) {
        guard let newest = self.awaited.last(where: { $0.seq <= seq }) else { return }
        self.good = newest.number
        self.awaited.removeAll { $0.number <= newest.number }
        if self.good > self.overdue { self.troubles.remove(.engine) }
    }
}
#endif
