/// Why a history that had been there began anew, or at least its numbering.
public enum HistoryLoss: Hashable, Sendable {
    /// The database could not be read; that is where it is now.
    case corrupt(setAside: String)
    /// There was nothing in the database of that name, or no such file.
    case missing(database: String)
    /// The database ends before what was there, or has another epoch: a copy that was put back.
    ///
    /// The history goes on from it, under a new epoch.
    case restored(database: String)
}
