import NIOCore

/// Decides whose turn it is to read the history; reads nothing itself.
///
/// One read at a time; users take turns, and each user's reads are made in the order in which they
/// came. The connections and their limits bound the queue.
struct HistoryTurns<Read> {
    private var isReading = false
    private var waiting: [UInt32: CircularBuffer<Read>] = [:]
    /// The users who have reads waiting, in the order of their turns.
    private var users = CircularBuffer<UInt32>()

    /// Queues a user's read, or returns it if it is to be made now.
    mutating func asked(_ read: Read, by uid: UInt32) -> Read? {
        guard self.isReading else {
            self.isReading = true
            return read
        }
        if self.waiting[uid] == nil { self.users.append(uid) }
        self.waiting[uid, default: CircularBuffer()].append(read)
        return nil
    }

    /// Notes that the read has ended; returns the one to make now.
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

    /// Ends all turns; returns the reads that will not be made.
    mutating func close() -> [Read] {
        defer {
            self.users = []
            self.waiting = [:]
        }
        return self.waiting.values.flatMap(\.self)
    }
}
