#if Cluster
/// Which watch is open, and whether it brings what happens.
///
/// A value that decides and does nothing.
struct OpenWatch: Sendable {
    /// Nil if none is.
    private(set) var number: UInt64?
    private var last: UInt64 = 0
    /// The revision of the head that the last check has shown: the watch has to have brought it by the next one.
    private var owed: Int64 = 0
    private var through: Int64 = 0

    var isOpen: Bool { self.number != nil }

    /// Opens one behind that revision, and returns its number.
    mutating func open(behind revision: Int64) -> UInt64 {
        self.last += 1
        (self.number, self.through) = (self.last, revision)
        return self.last
    }

    mutating func close() { self.number = nil }

    /// It has brought all up to that revision.
    mutating func came(through revision: Int64) { self.through = revision }

    /// A check has shown that revision of the head: a watch that owes what the one before has shown is of no use.
    mutating func checked(_ headRevision: Int64) {
        if self.through < self.owed { self.close() }
        self.owed = headRevision
    }

    /// Revisions begin again.
    mutating func beginAgain() { (self.number, self.owed) = (nil, 0) }
}
#endif
