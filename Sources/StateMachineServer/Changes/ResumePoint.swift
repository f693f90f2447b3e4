import StateMachineProtocol

/// Where a reader that names a cursor goes on.
enum ResumePoint: Equatable {
    /// Every change after that seq is to be had.
    case replay(after: UInt64)
    /// They are not; it begins anew with the current state. `missed` where it can be counted.
    case resync(ServerLine.Resync, missed: UInt64?)

    /// Evaluates a cursor as a client gave it, in a numbering of which `first` to `head` are kept.
    init(since: String, epoch: Epoch, kept first: UInt64, head: UInt64) {
        guard let cursor = Cursor(since) else {
            self = .resync(.unknown, missed: nil)
            return
        }
        if cursor.epoch != epoch {
            self = .resync(.restarted, missed: nil)
        } else if cursor.seq > head {
            self = .resync(.unknown, missed: nil)
        } else if cursor.seq + 1 < first {
            self = .resync(.evicted, missed: head - cursor.seq)
        } else {
            self = .replay(after: cursor.seq)
        }
    }
}
