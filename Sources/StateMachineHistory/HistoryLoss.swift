/// Why a history that had been there began anew.
public enum HistoryLoss: Hashable, Sendable {
    /// The database could not be read; that is where it is now.
    case corrupt(setAside: String)
    /// There was nothing in the database of that name, or no such file.
    case missing(database: String)
}
