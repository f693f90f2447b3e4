#if Cluster
/// The reads by a quorum, called *looks*, from which all is learned that the watch has not brought: one at a time.
///
/// A value that decides and does nothing.
struct Looks: Sendable {
    struct Look: Sendable {
        let number: UInt64
        /// What was known when it was begun.
        let knowing: Restoration.Memory?
        /// Whether freshness counts from it.
        let isCounted: Bool
    }

    private var underWay: Look?
    private var isWanted = false
    /// Whether the next one is one that freshness counts from.
    private var isCheckDue = true

    /// Whether one is to be begun now.
    var areDue: Bool { self.underWay == nil && self.isWanted }

    /// Something has to be looked at.
    mutating func want() { self.isWanted = true }

    /// The same, and freshness has to count from it.
    mutating func wantCheck() { (self.isWanted, self.isCheckDue) = (true, true) }

    /// Begins one.
    mutating func begin(_ number: UInt64, knowing memory: Restoration.Memory?) -> Look {
        let look = Look(number: number, knowing: memory, isCounted: self.isCheckDue)
        (self.underWay, self.isWanted, self.isCheckDue) = (look, false, false)
        return look
    }

    /// The one of that number was answered, or will not be; nil if it is not under way.
    mutating func ended(_ number: UInt64) -> Look? {
        self.underWay?.number == number ? self.underWay.take() : nil
    }

    /// Freshness does not count from it: if it was to, it does so from the next one.
    mutating func didNotCount(_ look: Look) { self.isCheckDue = self.isCheckDue || look.isCounted }

    /// Its answer does not come.
    mutating func disconnected() { self.underWay = nil }
}
#endif
