import Glibc
import StateMachineCore
import StateMachineProtocol

/// Lines straight from the ring: nothing is copied but what the socket did not take.
extension Connection {
    /// A line that is about to be written, as far as it has to be told from others.
    private typealias Line = (seq: UInt64, length: Int)

    /// Writes the ring's own bytes, all that are new, in one call.
    func writeAll(of watch: Watch) -> Bool {
        let head = self.server.ring.head
        self.server.vectors.removeAll(keepingCapacity: true)
        self.server.ring.appendSlices(after: watch.cursor, to: &self.server.vectors)
        let written = self.writeVectors()
        guard case .short(let count) = written else {
            watch.cursor = head
            watch.reported = head
            return written == .all
        }
        let lines = (watch.cursor + 1...head).map { seq -> Line in
            (seq, self.server.ring[seq].length)
        }
        let last = self.leaveRest(of: lines, written: count)
        watch.cursor = last.seq
        watch.reported = last.seq
        return false
    }

    /// Writes changes line by line: only what the watch wants, with its id, marked if replayed.
    func writeSome(of watch: Watch) -> Bool {
        switch watch.mode {
        case .all:
            let lines = self.gather(
                after: watch.cursor,
                through: self.server.ring.head,
                only: watch.only,
                head: watch.head,
                isReplayed: watch.isReplaying
            )
            return self.write(lines, of: watch)
        case .latest:
            return self.writeNewest(of: watch)
        }
    }

    /// Writes the newest change that the watch wants, with the number of those that it stands for, when all
    /// have been looked at; until then it looks at some more.
    private func writeNewest(of watch: Watch) -> Bool {
        var newest = watch.newest.examined(after: watch.cursor)
        let end = self.server.endOfPiece(after: newest.seq, patterns: watch.only?.count ?? 0)
        while newest.seq < end {
            newest.seq += 1
            guard self.server.isWanted(newest.seq, watch.only) else { continue }
            newest.wanted = newest.seq
            newest.count += 1
        }
        watch.newest = newest
        guard end == self.server.ring.head else { return true }
        guard let wanted = newest.wanted else {
            watch.cursor = end
            return true
        }
        let change = self.server.ring[wanted]
        let tail = ChangeLine.tail(skipped: newest.count - 1, isReplayed: watch.isReplaying)
        return tail.withUnsafeBytes { tail in
            self.server.vectors.removeAll(keepingCapacity: true)
            let length = self.gather(change, head: watch.head, tail: tail)
            return self.write((end, [(wanted, length)]), of: watch)
        }
    }

    /// Writes what an answer to `history` still lacks; false if the socket did not take it all.
    func writeHistory(_ run: HistoryRun) -> Bool {
        var isFirst = true
        while !run.isDone {
            guard exchange(&isFirst, with: false) || !self.turn.mustStop() else { return false }
            guard self.server.ring.reaches(back: run.cursor) else {
                guard let past = self.server.past else {
                    run.passOver(to: self.server.ring.first, asPruned: true)
                    continue
                }
                guard self.writePast(past, of: run) == .wrote else { return false }
                continue
            }
            guard run.left > 0 else {
                if self.hasComeToNext(of: run) { return true }
                continue
            }
            let (examined, lines) = self.gather(
                after: run.cursor,
                through: run.end,
                only: run.only,
                head: run.head,
                isReplayed: true,
                limit: run.left
            )
            guard !lines.isEmpty else {
                run.cursor = examined
                continue
            }
            switch self.writeVectors() {
            case .all:
                run.cursor = examined
                run.sent(lines.count)
            case .short(let count):
                let last = self.leaveRest(of: lines, written: count)
                run.cursor = last.seq
                run.sent(last.count)
                return false
            case .gone:
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
            run.cursor += 1
        }
        return run.isDone
    }

    /// Sets up the vectors for as many lines as one write takes, of as many changes as there is time for.
    private func gather(
        after cursor: UInt64,
        through end: UInt64,
        only: [Pattern]?,
        head: LineHead,
        isReplayed: Bool,
        limit: UInt64 = .max
    ) -> (examined: UInt64, lines: [Line]) {
        let tail = isReplayed ? ChangeLine.replayTail.buffer : nil
        var lines: [Line] = []
        var seq = cursor
        let patterns = only?.count ?? 0
        var pause = self.server.endOfPiece(after: seq, patterns: patterns)
        self.server.vectors.removeAll(keepingCapacity: true)
        // A line takes four vectors: its head, the shared part that may wrap around, its tail.
        while seq < end, lines.count < limit,
            self.server.vectors.count + 4 <= SocketWriter.vectorLimit
        {
            if seq == pause {
                guard !self.turn.mustStop() else { break }
                pause = self.server.endOfPiece(after: seq, patterns: patterns)
            }
            seq += 1
            guard self.server.isWanted(seq, only) else { continue }
            lines.append((seq, self.gather(self.server.ring[seq], head: head, tail: tail)))
        }
        return (seq, lines)
    }

    /// Sets up the vectors of one line, and returns how long it is; without `tail` it keeps its own.
    private func gather(
        _ change: ChangeRing.Change,
        head: LineHead,
        tail: UnsafeRawBufferPointer?
    ) -> Int {
        let ownTail = tail == nil ? 0 : ChangeLine.tail.utf8CodeUnitCount
        self.server.vectors.append(head.bytes.vector)
        self.server.ring.appendSlices(
            of: change,
            without: ChangeLine.head.count,
            ownTail,
            to: &self.server.vectors
        )
        if let tail { self.server.vectors.append(tail.vector) }
        return head.bytes.count + change.length - ChangeLine.head.count - ownTail
            + (tail?.count ?? 0)
    }

    /// Writes the vectors that are set up, and moves the watch's cursor past what went.
    private func write(_ batch: (examined: UInt64, lines: [Line]), of watch: Watch) -> Bool {
        guard let newest = batch.lines.last else {
            watch.cursor = batch.examined
            return true
        }
        switch self.writeVectors() {
        case .all:
            watch.cursor = batch.examined
            watch.reported = newest.seq
            return true
        case .short(let count):
            let last = self.leaveRest(of: batch.lines, written: count)
            watch.cursor = last.seq
            watch.reported = last.seq
            return false
        case .gone:
            return false
        }
    }

    private enum Written: Equatable {
        case all
        case short(Int)
        case gone
    }

    private func writeVectors() -> Written {
        var total = 0
        for vector in self.server.vectors { total += vector.iov_len }
        guard let count = self.outbox.offerVectors() else { return .gone }
        return count == total ? .all : .short(count)
    }

    /// Leaves to the channel the line in which the socket stopped: when the channel has written it,
    /// there is room again.
    ///
    /// Returns that line's seq and how many lines have gone with it.
    private func leaveRest(of lines: [Line], written: Int) -> (seq: UInt64, count: Int) {
        var end = 0
        var last: (seq: UInt64, count: Int) = (0, 0)
        for line in lines {
            end += line.length
            last = (line.seq, last.count + 1)
            if end > written { break }
        }
        self.outbox.leave(self.server.vectors.bytes(written..<end)[...])
        return last
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var vector: iovec {
        iovec(iov_base: UnsafeMutableRawPointer(mutating: self.baseAddress), iov_len: self.count)
    }
}

extension StaticString {
    fileprivate var buffer: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: self.utf8Start, count: self.utf8CodeUnitCount)
    }
}

extension [iovec] {
    /// The bytes in that range of all that the vectors point at.
    fileprivate func bytes(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        var start = 0
        for vector in self {
            let part = UnsafeRawBufferPointer(start: vector.iov_base, count: vector.iov_len)
            let wanted = range.clamped(to: start..<start + part.count)
            if !wanted.isEmpty {
                bytes.append(
                    contentsOf: part[wanted.lowerBound - start..<wanted.upperBound - start]
                )
            }
            start += part.count
        }
        return bytes
    }
}
