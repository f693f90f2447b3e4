import NIOCore
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
    /// The first reason why its client has missed changes.
    ///
    /// Its cursor could not be used, and it began with the oldest kept change; or changes are
    /// missing before the first that it has shown, or were removed after the last.
    private(set) var resync: ServerLine.Resync?
    /// Why reading could not go on.
    private(set) var failure: HistoryFailure?

    /// The last change that was examined; the answer ends at ``end``.
    private(set) var cursor: UInt64
    /// The cursor before the oldest kept change, if it began there because the request named no
    /// place.
    private var oldest: UInt64?
    private(set) var end: UInt64
    private(set) var left: UInt64
    private(set) var count: UInt64 = 0

    /// Whether it stops before ``end``, with more changes available.
    private(set) var isStopped = false

    /// Whether nothing is to be shown any more.
    var isDone: Bool { self.isStopped || self.cursor >= self.end }

    /// The read of changes older than the ring.
    var past = HistoryReading()

    /// What its lines begin with.
    let head: LineHead

    /// How it looks for changes, if it does more than show what follows its cursor.
    var search: Search

    /// Search options: an order, two times, and who or what made a change.
    struct Search {
        /// Whether the request has any of them.
        let isNeeded: Bool
        /// Whether the newest comes first; what is to be shown then ends at `end`, which moves.
        let isNewestFirst: Bool
        /// Whether an outline is wanted.
        let isOutline: Bool
        let filter: ChangeFilter
        /// The times to search between, until the changes at those times are known.
        fileprivate var times: (after: WallTime?, before: WallTime?)
        /// Whether such a change is being looked up.
        var isPlacing = false
        /// How many changes there are to be looked at, and when the client was last told anything; nil before the first look.
        fileprivate var begun: (whole: UInt64, told: NIODeadline)?
        /// Whether to tell how far it has come.
        private let reportsProgress: Bool

        /// The least time between two lines that say so: people look about that often.
        fileprivate static let pause = TimeAmount.seconds(1)

        /// Whether the client is to be told, now that a piece with or without lines has been sent.
        fileprivate mutating func mustTell(_ hasSent: Bool, at now: NIODeadline) -> Bool {
            guard self.reportsProgress, let told = self.begun?.told else { return false }
            let isTime = !hasSent && now - told >= Self.pause
            if hasSent || isTime { self.begun?.told = now }
            return isTime
        }

        init(_ call: HistoryCall) {
            self.isNeeded = call.isSearch
            self.isNewestFirst = call.order == .newest
            self.isOutline = call.isOutline
            self.filter = ChangeFilter(call)
            self.times = (call.after?.time, call.before?.time)
            self.reportsProgress = call.reportsProgress
        }

        /// A time whose change is not known yet.
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

    /// Ends it here.
    func stop() { self.isStopped = true }

    /// Ends it here, with a refusal.
    func fail(_ failure: HistoryFailure) {
        self.failure = failure
        self.stop()
    }

    /// Skips the changes between its cursor and `first`, which are no longer available.
    ///
    /// If it has shown any, it ends: the next request goes on from the last of them, and is told
    /// what is missing before its own first. If not, it goes on with `first`, or the next request
    /// would ask for the same again.
    ///
    /// - Parameters:
    ///   - first: where it may go on, at most one past the newest change.
    ///   - isPruned: whether they were removed on purpose before this slow reader had them.
    func passOver(to first: UInt64, asPruned isPruned: Bool) {
        guard self.count == 0 else {
            if isPruned { self.resync = self.resync ?? .lagged }
            self.stop()
            return
        }
        // A request that named no place misses nothing as long as there is an oldest change to
        // begin with.
        let isAtOldest = self.cursor == self.oldest && first <= self.end
        self.cursor = min(first - 1, self.end)
        if isAtOldest {
            self.oldest = self.cursor
        } else {
            self.resync = self.resync ?? .evicted
        }
    }

    /// Notes that nothing up to `seq` is to be shown.
    func passed(to seq: UInt64) { self.cursor = seq }

    /// Ends it, since the last process's epoch is gone, and with it what was still to be shown.
    func endAnew() {
        self.resync = .restarted
        self.cursor = self.end
    }

    /// Notes lines offered for changes up to `examined`; false if not all of them were taken.
    func sent(_ sent: Output.Sent, upTo examined: UInt64, count: Int) -> Bool {
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

    /// Notes a piece offered to the client, in which one line may report several changes.
    func sent(_ sent: Output.Sent, _ piece: HistoryLines) -> Bool {
        guard self.search.isOutline, case .some = sent else {
            return self.sent(sent, upTo: piece.examined, count: piece.changes)
        }
        // The rest of the one line, which the socket did not take, follows by itself.
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

    /// The query for what is still to be searched.
    var query: TransitionQuery {
        self.search.filter.query(
            after: self.cursor,
            before: self.end + 1,
            isNewestFirst: self.search.isNewestFirst
        )
    }

    /// Notes that the search begins, if it has not begun.
    func beginLooking(at now: NIODeadline) {
        if self.search.begun == nil { self.search.begun = (self.end - self.cursor, now) }
    }

    /// How far it has come, if that is to be told now.
    func progress(_ hasSent: Bool, at now: NIODeadline) -> (examined: UInt64, of: UInt64)? {
        guard self.search.mustTell(hasSent, at: now), !self.isDone,
            let whole = self.search.begun?.whole
        else { return nil }
        return (whole - min(whole, self.end - self.cursor), whole)
    }

    /// Notes that the unplaced time lies just before that change.
    func placed(at seq: UInt64) {
        if self.search.times.after != nil {
            self.search.times.after = nil
            self.cursor = max(self.cursor, seq - 1)
        } else {
            self.search.times.before = nil
            self.end = min(self.end, max(seq, 1) - 1)
        }
    }

    /// Notes that no more changes match.
    func foundNothing() {
        if self.search.isNewestFirst {
            self.end = self.cursor
        } else {
            self.cursor = self.end
        }
    }

    /// Notes that changes are missing among those examined.
    func misses(as resync: ServerLine.Resync = .evicted) { self.resync = self.resync ?? resync }
}
