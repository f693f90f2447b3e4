import StateMachineProtocol

/// Where a reader that names a cursor resumes.
enum ResumePoint: Equatable {
    /// Every change after that seq is available.
    case replay(after: UInt64)
    /// They are not; it starts over with the current state. `missed` is nil if it is unknown.
    case resync(ServerLine.Resync, missed: UInt64?)

    /// Evaluates a client's cursor in an epoch of which `first` to `head` are kept.
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
