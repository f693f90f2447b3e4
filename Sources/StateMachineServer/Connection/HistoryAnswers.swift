import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Answers to `history`, which are written from the changes themselves when their turn has come.
///
/// Belongs to the event loop.
struct HistoryAnswers {
    private let output: Output
    private var server: StateServer { self.output.server }

    init(_ output: Output) { self.output = output }

    /// Queues an answer.
    func begin(_ call: HistoryCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        let past = self.server.past
        var (cursor, resync, _) = past.start(call.since, else: past.first - 1)
        var end = past.ring.head
        if let after = try self.seq(of: call.after) {
            if after < cursor { resync = .evicted }
            cursor = max(cursor, after)
        }
        if let before = try self.seq(of: call.before) {
            end = min(end, max(before, 1) - 1)
        }
        self.output.append(
            HistoryRun(
                call,
                id: id,
                after: cursor,
                through: end,
                resync: resync,
                isFromOldest: call.since == nil && call.after == nil,
                request: line
            )
        )
    }

    /// The change that a place names; nil if it is a time, or there is none.
    private func seq(of position: HistoryPosition?) throws(WireError) -> UInt64? {
        switch position {
        case nil, .time: return nil
        case .seq(let seq): return seq
        case .cursor(let text):
            guard let seq = self.server.past.seq(of: text) else {
                throw WireError(
                    .badRequest,
                    "\(text.quoted) is a cursor from another epoch; give a time or a seq"
                )
            }
            return seq
        }
    }

    /// Goes on with the answer whose turn it is, and with those right behind it.
    func write() {
        while let run = self.output.run, self.write(run), self.output.isFree {
            self.output.finishRun()
            guard self.output.isFree, self.output.run == nil || !self.output.mustStop() else {
                return
            }
        }
    }

    /// Writes what an answer still lacks, as far as there is time and the socket takes it; returns whether that was all.
    private func write(_ run: HistoryRun) -> Bool {
        let past = self.server.past
        var isFirst = true
        while !run.isDone {
            guard self.output.isFree, exchange(&isFirst, with: false) || !self.output.mustStop()
            else { return false }
            if run.left == 0, run.call.isSearch {
                run.stop()
                return true
            }
            if let time = run.unplaced {
                guard self.locate(run, at: time) else { return false }
                continue
            }
            if run.call.reportsProgress { run.beginLooking(at: .now()) }
            let step = past.next(run.cursor, for: self.output) { query in
                run.narrow(&query)
                let (selection, epoch) = (run.selection, past.epoch)
                return { RecordedLines($0, selection, in: epoch) }
            }
            switch step {
            case .ring(let changes) where run.left == 0: self.comeToNext(of: run, among: changes)
            case .ring(let changes) where run.call.isOutline:
                self.passed(self.output.write(self.outline(of: changes, for: run)), run)
            case .ring(let changes):
                let written = self.output.write(changes, for: run.selection, isReplayed: true)
                self.passed(written, run)
            case .read(let piece):
                self.passed(self.output.write(piece), run, hasMore: piece.hasMore)
            case .wait: return false
            case .lost(let next, let isPruned):
                let hasHistory = past.disk != nil
                run.passOver(to: next, asPruned: isPruned, hasHistory: hasHistory)
            case .unreadable(let failure): run.fail(failure)
            // A run's cursor knows all declarations.
            case .end, .declared: return true
            }
        }
        return true
    }

    /// Has an answer begin or end at that time; false if it cannot go on now.
    private func locate(_ run: HistoryRun, at time: WallTime) -> Bool {
        guard !run.isPlacing else { return false }
        run.isPlacing = true
        self.server.past.position(of: time, upTo: run.cursor.end, for: self.output) { result in
            run.isPlacing = false
            switch result {
            case .success(let seq): run.placed(at: seq)
            case .failure(let failure): run.fail(failure)
            }
        }
        return !run.isPlacing
    }

    /// Moves a run that has reached its limit on to the next change that it would show, so that its summary can say
    /// whether there are more.
    private func comeToNext(of run: HistoryRun, among changes: ClosedRange<UInt64>) {
        self.output.look(at: changes, comparing: run.selection.patterns) { seq, row in
            guard !run.selection.wants(row, shownBy: self.server.states) else {
                run.stop()
                return false
            }
            run.cursor.passed(to: seq)
            return true
        }
    }

    /// Notes how far an answer has been written, and tells a client that asked for it how far the search has come.
    private func passed(_ written: Output.Written, _ run: HistoryRun, hasMore: Bool = false) {
        run.passed(written)
        if hasMore, run.left == 0 { run.stop() }
        guard self.output.isFree,
            let (examined, whole) = run.progress(written.changes > 0, at: .now())
        else { return }
        self.output.write(ServerLine.progress(id: run.id, examined: examined, of: whole)[...])
    }

    /// An outline of the first few of these changes: 256 at most, which takes some 25 µs.
    private func outline(of changes: ClosedRange<UInt64>, for run: HistoryRun) -> RecordedLines {
        var outline = TransitionOutline(from: changes.lowerBound)
        for seq in changes.prefix(Int(min(run.left, 256))) {
            let change = self.server.past.ring[seq].change
            outline.append(change.new.name, at: change.at, isSameStay: !change.beginsStay)
        }
        return RecordedLines(TransitionFinding(outline), run.selection, in: self.server.epoch)
    }

    /// Ends the one that is being read: the client may go on from its last line when it comes back.
    func stopReadingPast() {
        if let run = self.output.run, run.cursor.isReading { run.stop() }
    }

    /// Ends an answer of the last process whose numbering is gone.
    func end(_ row: HistoryRow) {
        guard let run = HistoryRun(row, of: self.server.schema) else { return }
        run.cutByRestart()
        self.output.append(self.server.summary(of: run), replies: 1)
    }
}

extension StateServer {
    /// What follows the changes in an answer to `history`.
    func summary(of run: HistoryRun) -> [UInt8] {
        let resync = { (writer: inout LineWriter) in
            if let resync = run.resync { writer.string(.resync, resync.rawValue) }
        }
        if run.failure != nil {
            // What has failed, which names files, is in the log.
            let cursor = run.cursor
            let message =
                cursor.isNewestFirst
                ? "the change \(cursor.end) cannot be read from the history; give it as before, or "
                    + "have the history repaired"
                : "the changes after \(cursor.seq) cannot be read from the history; "
                    + "give a later cursor as since, or have the history repaired"
            self.counters.add(.refusals)
            return ServerLine.refusal(id: run.id, WireError(.internal, message), rest: resync)
        }
        return ServerLine.reply(
            id: run.id,
            own: { writer in
                writer.number(.count, run.count)
                writer.bool(.more, run.isStopped || run.hasMore)
            },
            rest: { writer in
                resync(&writer)
                self.writeStaleness(to: &writer)
            }
        )
    }
}

extension HistoryRun {
    /// Whether there is more of what was asked for than the answer has shown, which has come to the next that is wanted.
    fileprivate var hasMore: Bool { self.cursor.seq < self.cursor.end }
}
