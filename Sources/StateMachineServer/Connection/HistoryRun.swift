import NIOCore
import StateMachineCore
import StateMachineProtocol

/// An answer to `history` that is being written: which changes it still has to show.
///
/// Belongs to the event loop.
final class HistoryRun {
    var id: RequestID? { self.selection.id }
    let call: HistoryCall
    /// What it has yet to show.
    private(set) var selection: ChangeSelection
    /// The line that asked for it.
    let request: [UInt8]
    /// The first reason why its client has missed changes.
    ///
    /// Either its cursor could not be used and it began with the oldest kept change, or changes are missing before the
    /// first one shown, or changes after the last one shown were removed.
    private(set) var resync: ServerLine.Resync?
    /// Why reading could not go on.
    private(set) var failure: HistoryFailure?

    /// The last change that was examined, and the last that it may come to; it ends where they meet.
    let cursor: PastCursor<RecordedLines>
    /// The cursor before the oldest kept change, if it began there because the request named no
    /// place.
    private var oldest: UInt64?
    private(set) var count: UInt64 = 0

    /// Whether it stops before its end, with more changes available.
    private(set) var isStopped = false

    /// Whether it has to show nothing else.
    var isDone: Bool { self.isStopped || self.cursor.seq >= self.cursor.end }

    /// The times to look between, until the changes at those times are known.
    private var times: (after: WallTime?, before: WallTime?)
    /// Whether such a change is being looked up.
    var isPlacing = false
    /// How many changes there are to look at, and when the client was last told anything; nil before the first look.
    private var begun: (whole: UInt64, told: NIODeadline)?

    /// The least time between two lines that tell how far it has come: people look about that often.
    private static let pause = TimeAmount.seconds(1)

    /// Changes in one line of an outline.
    ///
    /// 4096: a few milliseconds of reading, for which the next reader waits, and some 40 KiB.
    private static let outlined: UInt64 = 4096

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
        self.call = call
        self.selection = ChangeSelection(call, id: id)
        self.resync = resync
        self.cursor = PastCursor(
            after: cursor,
            isNewestFirst: call.order == .newest,
            prefersDisk: call.isOutline
        )
        self.cursor.end = end
        self.oldest = isFromOldest ? cursor : nil
        self.times = (call.after?.time, call.before?.time)
    }

    // MARK: - The end

    /// Ends it here.
    func stop() { self.isStopped = true }

    /// Ends it here, with a refusal.
    func fail(_ failure: HistoryFailure) {
        self.failure = failure
        self.stop()
    }

    /// Ends it, since the last process's epoch is gone, and with it what was still to be shown.
    func cutByRestart() {
        self.resync = .restarted
        self.cursor.seq = self.cursor.end
    }

    // MARK: - What it asks for

    /// A time whose change is not known yet.
    var unplaced: WallTime? { self.times.after ?? self.times.before }

    /// Resolves the unplaced time: `seq` is the first change made then or later.
    func placed(at seq: UInt64) {
        if self.times.after != nil {
            self.times.after = nil
            self.cursor.seq = max(self.cursor.seq, seq - 1)
        } else {
            self.times.before = nil
            self.cursor.end = min(self.cursor.end, max(seq, 1) - 1)
        }
    }

    /// How many changes it may still show.
    var left: UInt64 { self.selection.limit }

    /// Says what it wants from the history.
    func narrow(_ query: inout TransitionQuery) {
        self.selection.narrow(&query)
        if self.call.isOutline { query.outlined = Int(min(self.left, Self.outlined)) }
    }

    // MARK: - How far it has come

    /// Notes how far it has been written.
    func passed(_ written: Output.Written) {
        self.cursor.passed(to: written.examined)
        self.sent(written.changes)
    }

    func sent(_ changes: Int) {
        self.selection.limit -= UInt64(changes)
        self.count += UInt64(changes)
    }

    /// Skips the changes between its cursor and `next`, which are no longer available.
    ///
    /// A run that reads oldest first and has shown changes ends here, unless it is a search of a history: the next
    /// request continues after the last change shown and is told what is missing. A run that has shown nothing
    /// continues with `next`; otherwise the next request would meet the same gap.
    ///
    /// - Parameters:
    ///   - next: where it may go on, at most one past its end.
    ///   - isPruned: whether they were removed on purpose before this slow reader had them.
    ///   - hasHistory: whether they are missing in the history, in which a search goes on behind them.
    func passOver(to next: UInt64, asPruned isPruned: Bool, hasHistory: Bool) {
        if self.cursor.isNewestFirst {
            self.resync = self.resync ?? (hasHistory ? .evicted : .lagged)
            self.cursor.end = next
            return
        }
        guard self.count == 0 || hasHistory && self.call.isSearch else {
            if isPruned { self.resync = self.resync ?? .lagged }
            self.stop()
            return
        }
        // A request that named no place misses nothing as long as there is an oldest change to
        // begin with.
        let isAtOldest = self.cursor.seq == self.oldest && next <= self.cursor.end
        self.cursor.seq = min(next - 1, self.cursor.end)
        if isAtOldest {
            self.oldest = self.cursor.seq
        } else {
            self.resync = self.resync ?? .evicted
        }
    }

    /// Notes that a search begins, if it has not begun.
    func beginLooking(at now: NIODeadline) {
        if self.begun == nil { self.begun = (self.cursor.end - self.cursor.seq, now) }
    }

    /// How far it has come, if that is to be told now that a piece with or without lines has been sent.
    func progress(_ hasSent: Bool, at now: NIODeadline) -> (examined: UInt64, of: UInt64)? {
        guard self.call.reportsProgress, let begun else { return nil }
        let isTime = !hasSent && now - begun.told >= Self.pause
        if hasSent || isTime { self.begun?.told = now }
        guard isTime, !self.isDone else { return nil }
        let left = self.cursor.end - self.cursor.seq
        return (begun.whole - min(begun.whole, left), begun.whole)
    }
}
