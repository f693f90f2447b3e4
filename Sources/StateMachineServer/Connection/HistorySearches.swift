import StateMachineCore
import StateMachineProtocol

/// Answers to `history` that begin with the newest change, at a time, or with changes of somebody's: read from the
/// daemon's history, or, without one, from the ring.
///
/// Belongs to the event loop.
struct HistorySearches {
    private let changes: ChangeWriter
    private let server: StateServer
    private let turn: Turn

    init(_ changes: ChangeWriter) {
        self.changes = changes
        self.server = changes.server
        self.turn = changes.turn
    }

    /// Writes what an answer still lacks; false if the socket did not take it all, or there is no time.
    func write(_ run: HistoryRun) -> Bool {
        var isFirst = true
        while !run.isDone {
            guard exchange(&isFirst, with: false) || !self.turn.mustStop() else { return false }
            guard run.left > 0 else {
                run.stop()
                return true
            }
            let goesOn =
                self.server.past.map { self.write(from: $0, run) } ?? self.writeFromRing(run)
            guard goesOn else { return false }
        }
        return true
    }

    // MARK: - From the history

    private func write(from past: Past, _ run: HistoryRun) -> Bool {
        if let time = run.search.unplaced {
            if run.search.isPlacing { return false }
            run.search.isPlacing = true
            self.changes.locate(past, time, upTo: run.end) { result in
                run.search.isPlacing = false
                switch result {
                case .success(let seq): run.placed(at: seq)
                case .failure(let failure): run.fail(failure)
                }
            }
            return false
        }
        switch run.past.next() {
        case .wait: return false
        case .ask:
            let wish = HistoryLines.Wish(
                head: Array(run.head.bytes),
                only: run.search.filter.only,
                limit: run.left
            )
            self.changes.find(past, run.query, wish) { finding, canWrite in
                run.past.arrived(finding, canWrite: canWrite)
            }
            return false
        case .take(.unreadable(let failure)): run.fail(failure)
        case .take(.nothing): run.foundNothing()
        case .take(.found(let piece, _)): return self.write(piece, of: run)
        }
        return true
    }

    private func write(_ piece: HistoryLines, of run: HistoryRun) -> Bool {
        if piece.hasGap { run.misses() }
        return run.sent(self.changes.write(piece), upTo: piece.examined, count: piece.lines.count)
    }

    // MARK: - From the ring

    private func writeFromRing(_ run: HistoryRun) -> Bool {
        if let time = run.search.unplaced {
            run.placed(at: self.place(of: time, upTo: run.end))
            return true
        }
        let first = self.server.ring.first
        if run.cursor + 1 < first {
            guard run.search.isNewestFirst else {
                run.passOver(to: first, asPruned: true)
                return true
            }
            guard run.end >= first else {
                run.misses(as: .lagged)
                run.foundNothing()
                return true
            }
        }
        return self.write(self.piece(for: run), of: run)
    }

    /// The first change that was made at a time or later; one past `end` if none was.
    private func place(of time: WallTime, upTo end: UInt64) -> UInt64 {
        var (first, end) = (self.server.ring.first, end + 1)
        while first < end {
            let middle = first + (end - first) / 2
            if self.server.ring[middle].entered.at < time {
                first = middle + 1
            } else {
                end = middle
            }
        }
        return first
    }

    /// The next few changes that are looked at.
    private func piece(for run: HistoryRun) -> HistoryLines {
        let filter = run.search.filter
        // 256 comparisons, as everywhere; a change that is copied counts as sixteen.
        let count = UInt64(max(1, 256 / max(16, filter.patterns)))
        var piece = HistoryLines(upTo: run.search.isNewestFirst ? run.end + 1 : run.cursor)
        var seq = run.search.isNewestFirst ? run.end : run.cursor + 1
        let oldest = max(run.cursor + 1, self.server.ring.first)
        for _ in 0..<count where seq >= oldest && seq <= run.end && piece.lines.count < run.left {
            let line = { self.server.ring.lines(after: seq - 1, count: 1)[0] }
            if filter.wants(self.server.ring[seq].entered.state, line: line) {
                piece.append(line(), seq: seq, head: Array(run.head.bytes))
            }
            piece.looked(at: seq)
            seq = run.search.isNewestFirst ? seq - 1 : seq + 1
        }
        return piece
    }
}
