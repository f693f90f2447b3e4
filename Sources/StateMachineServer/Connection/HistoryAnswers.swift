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
        var cursor = self.server.first - 1
        var end = self.server.ring.head
        var resync: ServerLine.Resync?
        if let after = try self.seq(of: call.after) {
            if after < cursor { resync = .evicted }
            cursor = max(cursor, after)
        }
        if let before = try self.seq(of: call.before) {
            end = min(end, max(before, 1) - 1)
        }
        switch call.since.map({ self.server.resumePoint($0) }) {
        case nil: break
        case .replay(let seq): cursor = seq
        case .resync(let reason, _): resync = reason
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
    private func seq(of place: HistoryPlace?) throws(WireError) -> UInt64? {
        switch place {
        case nil, .time: return nil
        case .seq(let seq): return seq
        case .cursor(let text):
            guard let seq = self.server.seq(of: text) else {
                throw WireError(
                    .badRequest,
                    "\(text.quoted) is a cursor from another epoch; give a time or a seq"
                )
            }
            return seq
        }
    }

    /// Goes on with the answer whose turn it is, and ends it if all is shown; false if nothing else is to be
    /// written now.
    func write() -> Bool {
        guard let run = self.output.run else { return true }
        let isWritten =
            run.search.isNeeded ? HistorySearches(self.output).write(run) : self.write(run)
        return isWritten && self.output.endRun()
    }

    /// Writes what an answer still lacks; false if the socket did not take it all.
    private func write(_ run: HistoryRun) -> Bool {
        var isFirst = true
        while !run.isDone {
            guard exchange(&isFirst, with: false) || !self.output.mustStop() else { return false }
            switch self.server.source(after: run.cursor) {
            case .ring: break
            case .none:
                run.passOver(to: self.server.ring.first, asPruned: true)
                continue
            case .history(let past):
                guard self.writePast(past, of: run) else { return false }
                continue
            }
            guard run.left > 0 else {
                if self.hasComeToNext(of: run) { return true }
                continue
            }
            let (examined, lines) = self.output.gather(
                after: run.cursor,
                through: run.end,
                only: run.only,
                head: run.head,
                isReplayed: true,
                limit: run.left
            )
            guard !lines.isEmpty else {
                run.passed(to: examined)
                continue
            }
            guard run.sent(self.output.write(lines), upTo: examined, count: lines.count) else {
                return false
            }
        }
        return true
    }

    /// Has an answer that may show no more come to the next change that it would show, to say whether there
    /// is one; false if that is farther than there is time for at once.
    private func hasComeToNext(of run: HistoryRun) -> Bool {
        let patterns = run.only?.count ?? 0
        let end = min(run.end, self.server.endOfPiece(after: run.cursor, patterns: patterns))
        while run.cursor < end {
            guard !self.server.isWanted(run.cursor + 1, run.only) else { return true }
            run.passed(to: run.cursor + 1)
        }
        return run.isDone
    }

    /// Writes a piece of an answer that the ring does not have; false if it cannot go on now.
    ///
    /// What is missing is passed over, and what cannot be read ends the answer.
    private func writePast(_ past: HistoryReader, of run: HistoryRun) -> Bool {
        switch run.past.next() {
        case .wait: return false
        case .ask:
            let selection = HistoryLines.Selection(
                head: Array(run.head.bytes),
                only: run.only,
                end: run.end,
                limit: run.left
            )
            self.output.ask(past, after: run.cursor, selection) { finding, canWrite in
                run.past.arrived(finding, canWrite: canWrite)
            }
            return false
        case .take(.unreadable(let failure)):
            run.fail(failure)
            return true
        case .take(.nothing):
            run.passOver(to: self.server.ring.first, asPruned: past.first > run.cursor + 1)
            return true
        case .take(.found(let piece, let first)):
            if first > run.cursor + 1 {
                // What the disk has lost the ring may have.
                let next = min(first, self.server.ring.first)
                run.passOver(to: next, asPruned: past.first > run.cursor + 1)
                guard run.cursor + 1 == first, !run.isDone else { return true }
            }
            let sent = self.output.write(piece)
            guard run.sent(sent, upTo: piece.examined, count: piece.lines.count) else {
                return false
            }
            if piece.hasMore { run.stop() }
            return true
        }
    }

    /// Ends the one that is being read: the client may go on from its last line when it comes back.
    func leavePast() {
        if let run = self.output.run, run.past.isUnderWay { run.stop() }
    }

    /// Ends an answer of the last process whose numbering is gone.
    func end(_ row: StandingRow) {
        guard let run = HistoryRun(row, of: self.server.machine.schema) else { return }
        run.endAnew()
        self.output.append(self.server.summary(of: run), replies: 1)
    }
}
