import Glibc
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Lines of changes on their way to the client: straight from the ring, of which nothing is copied but what the
/// socket did not take, and of what the history has from before it.
extension Output {
    /// Vectors in one call: IOV_MAX of Linux.
    private static let vectorLimit = 1024

    /// A line that is about to be written, as far as it has to be told from others.
    typealias Line = (seq: UInt64, length: Int)

    /// How much of the lines went.
    enum Sent {
        case all
        /// The socket is full: of so many lines, the last of them that change's.
        case some(through: UInt64, count: Int)
        /// None that counts: the client reads no more.
        case none
    }

    // MARK: - From the ring

    /// Writes the ring's own bytes, all that are new as far as that change, in one call.
    func writeAll(after cursor: UInt64, through end: UInt64) -> Sent {
        self.scratch.vectors.removeAll(keepingCapacity: true)
        self.server.ring.appendSlices(after: cursor, through: end, to: &self.scratch.vectors)
        return self.write((cursor + 1...end).map { ($0, self.server.ring[$0].length) })
    }

    /// Sets up the vectors for as many lines as one write takes, of as many changes as there is time for.
    func gather(
        after cursor: UInt64,
        through end: UInt64,
        only: PatternList?,
        head: LineHead,
        isReplayed: Bool,
        limit: UInt64 = .max
    ) -> (examined: UInt64, lines: [Line]) {
        let tail = isReplayed ? ChangeLine.replayTail.buffer : nil
        var lines: [Line] = []
        var seq = cursor
        let patterns = only?.count ?? 0
        var pause = self.server.endOfPiece(after: seq, patterns: patterns)
        self.scratch.vectors.removeAll(keepingCapacity: true)
        // A line takes four vectors: its head, the shared part that may wrap around, its tail.
        while seq < end, lines.count < limit,
            self.scratch.vectors.count + 4 <= Self.vectorLimit
        {
            if seq == pause {
                guard !self.mustStop() else { break }
                pause = self.server.endOfPiece(after: seq, patterns: patterns)
            }
            seq += 1
            guard self.server.isWanted(seq, only) else { continue }
            lines.append((seq, self.gather(self.server.ring[seq], head: head, tail: tail)))
        }
        return (seq, lines)
    }

    /// Sets up the vectors of one line alone, in which it stands for `skipped` others, and writes it.
    func write(
        _ seq: UInt64,
        head: LineHead,
        skipped: UInt64,
        isReplayed: Bool
    ) -> Sent {
        ChangeLine.tail(skipped: skipped, isReplayed: isReplayed).withUnsafeBytes { tail in
            self.scratch.vectors.removeAll(keepingCapacity: true)
            let length = self.gather(self.server.ring[seq], head: head, tail: tail)
            return self.write([(seq, length)])
        }
    }

    /// Sets up the vectors of one line, and returns how long it is; without `tail` it keeps its own.
    private func gather(
        _ change: ChangeRing.Change,
        head: LineHead,
        tail: UnsafeRawBufferPointer?
    ) -> Int {
        let ownTail = tail == nil ? 0 : ChangeLine.tail.utf8CodeUnitCount
        self.scratch.vectors.append(head.bytes.vector)
        self.server.ring.appendSlices(
            of: change,
            without: ChangeLine.head.count,
            ownTail,
            to: &self.scratch.vectors
        )
        if let tail { self.scratch.vectors.append(tail.vector) }
        return head.bytes.count + change.length - ChangeLine.head.count - ownTail
            + (tail?.count ?? 0)
    }

    /// Writes the vectors that are set up for these lines.
    ///
    /// The line in which the socket stops is left to the channel: when the channel has written it, there is
    /// room again.
    func write(_ lines: @autoclosure () -> [Line]) -> Sent {
        var total = 0
        for vector in self.scratch.vectors { total += vector.iov_len }
        guard let count = self.offerVectors() else { return .none }
        guard count < total else { return .all }
        let (end, seq, lines) = Self.whereStopped(lines(), count)
        self.leave(self.scratch.vectors.bytes(count..<end)[...])
        return .some(through: seq, count: lines)
    }

    /// Where the line ends in which the socket stopped, whose it is, and how many lines have gone with it.
    private static func whereStopped(
        _ lines: [Line],
        _ written: Int
    ) -> (end: Int, seq: UInt64, count: Int) {
        var end = 0
        for (index, line) in lines.enumerated() {
            end += line.length
            if end > written { return (end, line.seq, index + 1) }
        }
        return (end, lines.last?.seq ?? 0, lines.count)
    }

    // MARK: - From before the ring

    /// Has the next piece after `seq` read, and has `arrived` told of it and whether it can be written now.
    func ask(
        _ past: HistoryReader,
        after seq: UInt64,
        _ selection: HistoryLines.Selection,
        arrived: @escaping (HistoryChunk<HistoryLines>, Bool) -> Void
    ) {
        past.read(
            after: seq,
            for: self.peer.uid,
            making: { HistoryLines($0, selection, in: past.epoch) },
            done: self.handing(to: arrived)
        )
    }

    /// Has the next piece of what a query asks for looked for, and has `arrived` told of it and whether it can be
    /// written now.
    func find(
        _ past: HistoryReader,
        _ query: TransitionQuery,
        _ selection: HistoryLines.Selection,
        arrived: @escaping (HistoryChunk<HistoryLines>, Bool) -> Void
    ) {
        past.find(
            query,
            for: self.peer.uid,
            making: { HistoryLines($0, selection, in: past.epoch) },
            done: self.handing(to: arrived)
        )
    }

    /// Has an outline of the next few changes between a query's ends made, and has `arrived` told of it and whether it
    /// can be written now.
    func outline(
        _ past: HistoryReader,
        _ query: TransitionQuery,
        limit: Int,
        id: RequestID?,
        arrived: @escaping (HistoryChunk<HistoryLines>, Bool) -> Void
    ) {
        past.outline(
            query,
            limit: limit,
            for: self.peer.uid,
            making: { HistoryLines($0, id: id, in: past.epoch) },
            done: self.handing(to: arrived)
        )
    }

    /// Has a time looked up, and has `arrived` told which change is the first from then on.
    func locate(
        _ past: HistoryReader,
        _ time: WallTime,
        upTo newest: UInt64,
        arrived: @escaping (Result<UInt64, HistoryFailure>) -> Void
    ) {
        past.locate(
            time,
            upTo: newest,
            for: self.peer.uid,
            done: self.handing { result, _ in arrived(result) }
        )
    }

    /// Hands what was read over on the loop, with whether it can be written now, and has the connection's turn come.
    private func handing<Value>(
        to arrived: @escaping (Value, Bool) -> Void
    ) -> @Sendable (Value) -> Void {
        let reader = NIOLoopBound((self, arrived), eventLoop: self.server.loop)
        return { value in
            let (writer, arrived) = reader.value
            arrived(value, !writer.isBlocked)
            writer.want()
        }
    }

    /// Writes the lines of a piece; what comes after the line in which the socket stops is forgotten.
    func write(_ piece: HistoryLines) -> Sent {
        guard !piece.bytes.isEmpty else { return .all }
        guard let count = self.offer(piece.bytes[...]) else { return .none }
        guard count < piece.bytes.count else { return .all }
        let (end, seq, lines) = Self.whereStopped(piece.lines, count)
        self.leave(piece.bytes[count..<end])
        return .some(through: seq, count: lines)
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
