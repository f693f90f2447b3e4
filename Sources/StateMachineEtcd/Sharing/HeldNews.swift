#if Cluster
/// What the watch and looks have shown, in its order, while it waits for the answer of a transaction.
///
/// A value that decides and does nothing.
struct HeldNews: Sendable {
    enum Item: Sendable {
        case news(EngineWatch.News)
        case look(Looks.Look, SharedReading)

        fileprivate var isLook: Bool {
            switch self {
            case .look: true
            case .news: false
            }
        }

        /// A revision that the engine has been at, whatever becomes of the item; nil: it says none.
        var revision: Int64? {
            switch self {
            case .look(_, let reading): reading.revision
            case .news(.changed(_, let through)): through
            case .news(.began), .news(.alive), .news(.ended): nil
            }
        }
    }

    /// What may wait for the answer of a transaction.
    ///
    /// What it holds up is read again if there is more. Not tuned.
    private static let limit = 256

    private var items: [Item] = []

    /// Adds one, unless there is no room: then all are gone, and have to be read again.
    ///
    /// - Returns: whether there was room.
    mutating func add(_ item: Item) -> Bool {
        guard self.items.count < Self.limit else {
            self.items = []
            return false
        }
        self.items.append(item)
        return true
    }

    /// Takes the next one; while the last commit is in doubt only looks, by which that may end.
    mutating func takeNext(isInDoubt: Bool) -> Item? {
        self.items.firstIndex { !isInDoubt || $0.isLook }.map { self.items.remove(at: $0) }
    }

    /// They are of an engine that may be another by now.
    mutating func drop() { self.items = [] }
}
#endif
