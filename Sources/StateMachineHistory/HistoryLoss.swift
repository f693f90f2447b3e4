/// Why a history that existed, or at least its numbering, began anew.
public enum HistoryLoss: Hashable, Sendable {
    /// The database could not be read, and was moved there.
    case corrupt(setAside: String)
    /// The database of that name was empty, or the file was missing.
    case missing(database: String)
    /// The database ends before what was there, or has another epoch: a restored copy.
    ///
    /// The history goes on from it, under a new epoch.
    case restored(database: String)
}
