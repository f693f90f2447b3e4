#if Cluster
/// Who asks whether the host is where a quorum is, from when they ask on.
///
/// A value that decides and does nothing.
struct FreshQuestions: Sendable {
    /// With the first look that was begun after they came.
    private var asked: [(id: UInt64, look: UInt64)] = []
    /// Those whose look was answered, and to which the host has to come up.
    private var looked: [UInt64] = []

    mutating func ask(_ id: UInt64, before look: UInt64) { self.asked.append((id, look)) }

    /// That look was answered; returns whether some need another one, since they came later.
    mutating func looked(by look: UInt64) -> Bool {
        self.looked += self.asked.filter { $0.look <= look }.map(\.id)
        self.asked.removeAll { $0.look <= look }
        return !self.asked.isEmpty
    }

    /// The host has come up to what the last look has shown; returns whose question that answers.
    mutating func reached() -> [UInt64] {
        defer { self.looked = [] }
        return self.looked
    }

    /// Nobody waits any longer; returns who did.
    mutating func drop() -> [UInt64] {
        defer { (self.asked, self.looked) = ([], []) }
        return self.asked.map(\.id) + self.looked
    }
}
#endif
