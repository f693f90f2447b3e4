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
        /// The socket is full: `count` lines have gone, the last of them that of the change `through`, whose rest may
        /// have been left to the channel.
        case some(through: UInt64, count: Int)
        /// None that counts: the client reads no more.
        case none
    }

    // MARK: - From the ring

    /// Writes the ring's own bytes, all of these changes in one call.
    func writeAll(_ changes: ClosedRange<UInt64>) -> Sent {
        let (first, last) = (changes.lowerBound, changes.upperBound)
        self.scratch.vectors.removeAll(keepingCapacity: true)
        self.server.past.ring.appendSlices(
            after: first - 1,
            through: last,
            to: &self.scratch.vectors
        )
        return self.write(changes.map { ($0, self.server.past.ring[$0].length) })
    }

    /// How many changes are checked between two looks at the clock: as many as cost 256 comparisons.
    ///
    /// 256: some 25 µs if each takes as long as it can.
    static func piece(patterns: Int) -> UInt64 { max(1, 256 / UInt64(max(1, patterns))) }

    /// Sets up the vectors for as many lines as one write takes, of as many of the ring's changes as there is time for.
    func gather(
        _ changes: ClosedRange<UInt64>,
        _ selection: ChangeSelection,
        head: LineHead,
        isReplayed: Bool
    ) -> (examined: UInt64, lines: [Line]) {
        let isNewestFirst = selection.isNewestFirst
        let tail = isReplayed ? ChangeLine.replayTail.buffer : nil
        var lines: [Line] = []
        var seq = isNewestFirst ? changes.upperBound + 1 : changes.lowerBound - 1
        let last = isNewestFirst ? changes.lowerBound : changes.upperBound
        let piece = Self.piece(patterns: selection.patterns)
        var left = piece
        self.scratch.vectors.removeAll(keepingCapacity: true)
        // A line takes four vectors: its head, the shared part that may wrap around, its tail.
        while seq != last, lines.count < selection.limit,
            self.scratch.vectors.count + 4 <= Self.vectorLimit
        {
            if left == 0 {
                guard !self.mustStop() else { break }
                left = piece
            }
            left -= 1
            seq = isNewestFirst ? seq - 1 : seq + 1
            let row = self.server.past.ring[seq]
            guard selection.wants(row) else { continue }
            lines.append((seq, self.gather(row, head: head, tail: tail)))
        }
        return (seq, lines)
    }

    /// Sets up the vectors of one line alone, in which it stands for `skipped` others, and writes it.
    func write(_ seq: UInt64, head: LineHead, skipped: UInt64, isReplayed: Bool) -> Sent {
        ChangeLine.tail(skipped: skipped, isReplayed: isReplayed).withUnsafeBytes { tail in
            self.scratch.vectors.removeAll(keepingCapacity: true)
            let length = self.gather(self.server.past.ring[seq], head: head, tail: tail)
            return self.write([(seq, length)])
        }
    }

    /// Sets up the vectors of one line, and returns how long it is; without `tail` it keeps its own.
    private func gather(
        _ row: ChangeRing.Row,
        head: LineHead,
        tail: UnsafeRawBufferPointer?
    ) -> Int {
        let ownTail = tail == nil ? 0 : ChangeLine.tail.utf8CodeUnitCount
        self.scratch.vectors.append(head.bytes.vector)
        self.server.past.ring.appendSlices(
            of: row,
            without: ChangeLine.head.count,
            ownTail,
            to: &self.scratch.vectors
        )
        if let tail { self.scratch.vectors.append(tail.vector) }
        return head.bytes.count + row.length - ChangeLine.head.count - ownTail
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

    /// Returns a callback that passes what was read to `arrived` on the loop, and requests a turn for the connection.
    func handing<Value>(to arrived: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        let reader = NIOLoopBound((self, arrived), eventLoop: self.server.loop)
        return { value in
            let (writer, arrived) = reader.value
            arrived(value)
            writer.want()
        }
    }

    /// Writes the lines of a piece; what comes after the line in which the socket stops is forgotten.
    func write(_ piece: RecordedLines) -> Sent {
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
