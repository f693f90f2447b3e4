/// Where the changes after a place in the order are: the ring has the newest, the history what is older.
enum ChangeSource {
    case ring
    /// Before the ring; they are read in the background.
    case history(HistoryReader)
    /// The ring has let them go, and there is no history.
    case none
}

extension StateServer {
    /// Where the changes after `seq` are.
    func source(after seq: UInt64) -> ChangeSource {
        if self.ring.reaches(back: seq) { return .ring }
        return self.past.map { .history($0) } ?? .none
    }
}
