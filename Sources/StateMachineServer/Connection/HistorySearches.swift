import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Answers to `history` that begin with the newest change, at a time, or with changes of somebody's: read from the
/// daemon's history, or, without one, from the ring.
///
/// Belongs to the event loop.
struct HistorySearches {
    /// Changes in one line of an outline.
    ///
    /// 4096: a few milliseconds of reading, for which the next reader waits, and some 40 KiB.
    private static let outlined: UInt64 = 4096

    private let output: Output
    private var server: StateServer { self.output.server }

    init(_ output: Output) { self.output = output }

    /// Writes what an answer still lacks; false if the socket did not take it all, or there is no time.
    func write(_ run: HistoryRun) -> Bool {
        var isFirst = true
        while !run.isDone {
            guard exchange(&isFirst, with: false) || !self.output.mustStop() else { return false }
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

    private func write(from past: HistoryReader, _ run: HistoryRun) -> Bool {
        if let time = run.search.unplaced {
            if run.search.isPlacing { return false }
            run.search.isPlacing = true
            self.output.locate(past, time, upTo: run.end) { result in
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
        case .ask where run.search.isOutline:
            let limit = Int(min(run.left, Self.outlined))
            self.output.outline(past, run.query, limit: limit, id: run.id) { finding, canWrite in
                run.past.arrived(finding, canWrite: canWrite)
            }
            return false
        case .ask:
            let selection = HistoryLines.Selection(
                head: Array(run.head.bytes),
                only: run.search.filter.only,
                limit: run.left
            )
            self.output.find(past, run.query, selection) { finding, canWrite in
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
        run.beginLooking(at: .now())
        guard run.sent(self.output.write(piece), piece) else { return false }
        guard let (examined, whole) = run.progress(!piece.lines.isEmpty, at: .now()) else {
            return true
        }
        return self.output.write(
            ServerLine.progress(id: run.id, examined: examined, of: whole)[...]
        )
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
        let piece =
            run.search.isOutline
            ? HistoryLines(self.outline(for: run), id: run.id, in: self.server.epoch)
            : self.piece(for: run)
        return self.write(piece, of: run)
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

    /// An outline of the next few changes.
    private func outline(for run: HistoryRun) -> TransitionOutline {
        let first = run.cursor + 1
        var outline = TransitionOutline(from: first)
        // 256, as everywhere.
        let end = min(run.end, run.cursor + min(run.left, 256))
        for seq in first...end {
            let entered = self.server.ring[seq].entered
            outline.append(
                entered.state.name,
                at: entered.at,
                isSameStay: entered.stay.map { $0.seq != seq } ?? false
            )
        }
        return outline
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
