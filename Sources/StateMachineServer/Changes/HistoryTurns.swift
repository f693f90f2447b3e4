import NIOCore

/// Whose turn it is to read the past: decides, reads nothing.
///
/// One read at a time, users one after the other, each user's in the order in which they came. Bounded by
/// the connections and what each may have.
struct HistoryTurns<Read> {
    private var isReading = false
    private var waiting: [UInt32: CircularBuffer<Read>] = [:]
    /// The users who have reads waiting, in the order of their turns.
    private var users = CircularBuffer<UInt32>()

    /// A user asks for a read; returned if it is to be made now.
    mutating func asked(_ read: Read, by uid: UInt32) -> Read? {
        guard self.isReading else {
            self.isReading = true
            return read
        }
        if self.waiting[uid] == nil { self.users.append(uid) }
        self.waiting[uid, default: CircularBuffer()].append(read)
        return nil
    }

    /// The read has ended; returns the one that is to be made now.
    mutating func ended() -> Read? {
        guard let uid = self.users.popFirst(), let read = self.waiting[uid]?.popFirst() else {
            self.isReading = false
            return nil
        }
        if self.waiting[uid]?.isEmpty == false {
            self.users.append(uid)
        } else {
            self.waiting[uid] = nil
        }
        return read
    }

    /// Nobody's turn comes any more; returns the reads that will not be made.
    mutating func close() -> [Read] {
        defer {
            self.users = []
            self.waiting = [:]
        }
        return self.waiting.values.flatMap(\.self)
    }
}
