import StateMachineCore
import StateMachineProtocol

/// An answer to `history` that is being written: which changes it still has to show.
///
/// Belongs to the event loop.
final class HistoryRun {
    let id: RequestID?
    let only: PatternList?
    /// The line that asked for it.
    let request: [UInt8]
    /// What its client cannot have seen: the first such thing.
    ///
    /// Its cursor could not be used, and it began with the oldest change kept; or changes are missing
    /// before the first that it has shown, or were removed after the last.
    private(set) var resync: ServerLine.Resync?
    /// Why it could not be read on.
    private(set) var failure: HistoryFailure?

    /// The last change that was looked at, and the last that it is about.
    private(set) var cursor: UInt64
    /// The cursor that stands for the oldest change kept, if it began there because it was told no other
    /// place.
    private var oldest: UInt64?
    private(set) var end: UInt64
    private(set) var left: UInt64
    private(set) var count: UInt64 = 0

    /// Whether it ends before its end, with more to be had.
    private(set) var isStopped = false

    /// Whether nothing is to be shown any more.
    var isDone: Bool { self.isStopped || self.cursor >= self.end }

    /// What it is being sent from before the ring.
    var past = HistoryReading()

    /// What its lines begin with.
    let head: LineHead

    /// How it looks for changes, if it does more than show what follows its cursor.
    var search: Search

    /// An order, two times, and who or what made a change.
    struct Search {
        /// Whether there is anything of the kind.
        let isNeeded: Bool
        /// Whether the newest comes first: what is to be shown ends at `end` then, and that moves.
        let isNewestFirst: Bool
        /// Whether an outline is wanted.
        let isOutline: Bool
        let filter: ChangeFilter
        /// The times between which it looks, until it is known which changes these are.
        fileprivate var times: (after: WallTime?, before: WallTime?)
        /// Whether that is being looked up.
        var isPlacing = false

        init(_ call: HistoryCall) {
            self.isNeeded = call.isSearch
            self.isNewestFirst = call.order == .newest
            self.isOutline = call.isOutline
            self.filter = ChangeFilter(call)
            self.times = (call.after?.time, call.before?.time)
        }

        /// A time of which it is not known yet which change it is.
        var unplaced: WallTime? { self.times.after ?? self.times.before }
    }

    init(
        _ call: HistoryCall,
        id: RequestID?,
        after cursor: UInt64,
        through end: UInt64,
        resync: ServerLine.Resync?,
        isFromOldest: Bool = false,
        request: [UInt8]
    ) {
        self.request = request
        self.id = id
        self.only = call.only
        self.resync = resync
        self.cursor = cursor
        self.oldest = isFromOldest ? cursor : nil
        self.end = end
        self.left = call.most
        self.head = LineHead(id)
        self.search = Search(call)
    }

    /// Has it end here.
    func stop() { self.isStopped = true }

    /// Has it end here, with a refusal.
    func fail(_ failure: HistoryFailure) {
        self.failure = failure
        self.stop()
    }

    /// The changes between its cursor and `first` are not to be had any more.
    ///
    /// If it has shown any, it ends: the next request goes on from the last of them, and is told what
    /// is missing before its own first. If not it goes on with `first`, for else it would be asked the
    /// same again.
    ///
    /// - Parameters:
    ///   - first: where it may go on, at most one past the newest change.
    ///   - isPruned: whether they were removed on purpose, before so slow a reader had them.
    func passOver(to first: UInt64, asPruned isPruned: Bool) {
        guard self.count == 0 else {
            if isPruned { self.resync = self.resync ?? .lagged }
            self.stop()
            return
        }
        // Who named no place misses nothing as long as there is an oldest one to begin with.
        let isAtOldest = self.cursor == self.oldest && first <= self.end
        self.cursor = min(first - 1, self.end)
        if isAtOldest {
            self.oldest = self.cursor
        } else {
            self.resync = self.resync ?? .evicted
        }
    }

    /// Nothing up to there is to be shown.
    func passed(to seq: UInt64) { self.cursor = seq }

    /// The last process's numbering is gone, and with it what it still had to show.
    func endAnew() {
        self.resync = .restarted
        self.cursor = self.end
    }

    /// So many lines of it have been offered to its client, of the changes up to `examined`; false if they did
    /// not all go.
    func sent(_ sent: ChangeWriter.Sent, upTo examined: UInt64, count: Int) -> Bool {
        switch sent {
        case .all:
            self.looked(at: examined)
            self.sent(count)
            return true
        case .some(let seq, let count):
            self.looked(at: seq)
            self.sent(count)
            return false
        case .none: return false
        }
    }

    /// The same of a piece, of which one line may tell of several changes.
    func sent(_ sent: ChangeWriter.Sent, _ piece: HistoryLines) -> Bool {
        guard self.search.isOutline, case .some = sent else {
            return self.sent(sent, upTo: piece.examined, count: piece.changes)
        }
        // What the socket did not take of the one line follows by itself.
        _ = self.sent(.all, upTo: piece.examined, count: piece.changes)
        return false
    }

    private func looked(at seq: UInt64) {
        if self.search.isNewestFirst {
            self.end = max(seq, self.cursor + 1) - 1
        } else {
            self.cursor = seq
        }
    }

    func sent(_ lines: Int) {
        self.left -= UInt64(lines)
        self.count += UInt64(lines)
    }

    // MARK: - Looking for changes

    /// What is still to be looked through.
    var query: TransitionQuery {
        self.search.filter.query(
            after: self.cursor,
            before: self.end + 1,
            isNewestFirst: self.search.isNewestFirst
        )
    }

    /// The time that was unplaced is just before that change.
    func placed(at seq: UInt64) {
        if self.search.times.after != nil {
            self.search.times.after = nil
            self.cursor = max(self.cursor, seq - 1)
        } else {
            self.search.times.before = nil
            self.end = min(self.end, max(seq, 1) - 1)
        }
    }

    /// Nothing is left.
    func foundNothing() {
        if self.search.isNewestFirst {
            self.end = self.cursor
        } else {
            self.cursor = self.end
        }
    }

    /// Changes are missing between those that it has looked at.
    func misses(as resync: ServerLine.Resync = .evicted) { self.resync = self.resync ?? resync }
}
