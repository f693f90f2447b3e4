import StateMachineProtocol

/// Where a reader that names a cursor resumes.
enum ResumePoint: Equatable {
    /// Every change after that seq is available.
    case replay(after: UInt64)
    /// They are not; it starts over with the current state. `missed` is nil if it is unknown.
    case resync(ServerLine.Resync, missed: UInt64?)

    /// Evaluates a client's cursor in an epoch of which `first` to `head` are kept, and which continues `earlier` ones,
    /// each up to a seq.
    init(
        since: String,
        epoch: Epoch,
        after earlier: [Epoch: UInt64] = [:],
        kept first: UInt64,
        head: UInt64
    ) {
        guard let cursor = Cursor(since) else {
            self = .resync(.unknown, missed: nil)
            return
        }
        guard let seq = cursor.seq(in: epoch, after: earlier) else {
            self = .resync(.restarted, missed: nil)
            return
        }
        if seq > head {
            self = .resync(.unknown, missed: nil)
        } else if seq + 1 < first {
            self = .resync(.evicted, missed: head - seq)
        } else {
            self = .replay(after: seq)
        }
    }
}

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
