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

    /// How far a reader of changes has been written to.
    struct Written {
        /// The last change that was looked at, or that of the last line if not all lines went.
        let examined: UInt64
        /// The change of the last line; nil if none was wanted.
        let last: UInt64?
        /// How many changes the lines report.
        let changes: Int
    }

    // MARK: - From the ring

    /// Looks at changes of the ring, one after the other, as long as `body` returns true and there is time.
    ///
    /// The clock is looked at after as many as cost 256 comparisons, which is some 25 µs if each takes as long as it can.
    func look(
        at changes: ClosedRange<UInt64>,
        newestFirst isNewestFirst: Bool = false,
        comparing patterns: Int,
        _ body: (UInt64, ChangeRing.Row) -> Bool
    ) {
        let piece = max(1, 256 / UInt64(max(1, patterns)))
        for index in 0..<UInt64(changes.count) {
            if index > 0, index.isMultiple(of: piece), self.mustStop() { return }
            let seq = isNewestFirst ? changes.upperBound - index : changes.lowerBound + index
            guard body(seq, self.server.past.ring[seq]) else { return }
        }
    }

    /// Writes the ring's own bytes, all of these changes in one call.
    func writeAll(_ changes: ClosedRange<UInt64>) -> Written {
        let (first, last) = (changes.lowerBound, changes.upperBound)
        self.scratch.vectors.removeAll(keepingCapacity: true)
        self.server.past.ring.appendSlices(
            after: first - 1,
            through: last,
            to: &self.scratch.vectors
        )
        guard let count = self.offerAll() else {
            return Written(examined: last, last: last, changes: changes.count)
        }
        let stop = self.server.past.ring.line(at: count, after: first - 1)
        self.spill(self.scratch.vectors.bytes(count..<stop.end)[...])
        return Written(
            examined: stop.seq,
            last: stop.seq,
            changes: Int(stop.seq - first + 1)
        )
    }

    /// Writes as many lines as one call takes, of as many of the ring's changes as there is time for.
    func write(
        _ changes: ClosedRange<UInt64>,
        for selection: ChangeSelection,
        isReplayed: Bool
    ) -> Written {
        selection.head.withUnsafeBytes { head in
            let tail = isReplayed ? ChangeLine.replayTail.buffer : nil
            var (examined, lines) = (changes.lowerBound, [Line]())
            self.scratch.vectors.removeAll(keepingCapacity: true)
            self.look(
                at: changes,
                newestFirst: selection.isNewestFirst,
                comparing: selection.patterns
            ) { seq, row in
                examined = seq
                if selection.wants(row, shownBy: self.server.states) {
                    lines.append((seq, self.gather(seq, head: head, tail: tail)))
                }
                // A line takes four vectors: its head, the shared part that may wrap around, its tail.
                return lines.count < selection.limit
                    && self.scratch.vectors.count + 4 <= Self.vectorLimit
            }
            return self.write(
                lines,
                Written(examined: examined, last: lines.last?.seq, changes: lines.count)
            )
        }
    }

    /// Writes one line alone, in which the change stands for `skipped` others.
    func write(
        _ seq: UInt64,
        skipped: UInt64,
        upTo examined: UInt64,
        for selection: ChangeSelection,
        isReplayed: Bool
    ) -> Written {
        selection.head.withUnsafeBytes { head in
            ChangeLine.tail(skipped: skipped, isReplayed: isReplayed).withUnsafeBytes { tail in
                self.scratch.vectors.removeAll(keepingCapacity: true)
                let length = self.gather(seq, head: head, tail: tail)
                return self.write(
                    [(seq, length)],
                    Written(examined: examined, last: seq, changes: 1)
                )
            }
        }
    }

    /// Sets up the vectors of one line, and returns how long it is; without `tail` it keeps its own.
    private func gather(
        _ seq: UInt64,
        head: UnsafeRawBufferPointer,
        tail: UnsafeRawBufferPointer?
    ) -> Int {
        let ownTail = tail == nil ? 0 : ChangeLine.tail.utf8CodeUnitCount
        self.scratch.vectors.append(head.vector)
        self.server.past.ring.appendSlices(
            of: seq,
            without: ChangeLine.head.count,
            ownTail,
            to: &self.scratch.vectors
        )
        if let tail { self.scratch.vectors.append(tail.vector) }
        let length = self.server.past.ring.length(of: seq)
        return head.count + length - ChangeLine.head.count - ownTail + (tail?.count ?? 0)
    }

    /// Writes the vectors that are set up; returns how much went if the socket did not take all, and nil if it did, or if
    /// the client reads no more.
    private func offerAll() -> Int? {
        var total = 0
        for vector in self.scratch.vectors { total += vector.iov_len }
        guard let count = self.offerVectors(), count < total else { return nil }
        return count
    }

    /// Writes the vectors that are set up for these lines, and returns how far it came: as far as `all` unless the socket
    /// is full.
    ///
    /// The line in which the socket stops is left to the channel, and those after it are forgotten: when the channel has
    /// written it, there is room again.
    private func write(_ lines: [Line], _ all: Written) -> Written {
        guard all.changes > 0, let count = self.offerAll() else { return all }
        var (end, gone) = (0, 0)
        while end <= count {
            end += lines[gone].length
            gone += 1
        }
        self.spill(self.scratch.vectors.bytes(count..<end)[...])
        guard gone < lines.count else { return all }
        let last = lines[gone - 1].seq
        return Written(examined: last, last: last, changes: gone)
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

    /// Writes the lines of a piece.
    func write(_ piece: RecordedLines) -> Written {
        piece.bytes.withUnsafeBytes { bytes in
            self.scratch.vectors.removeAll(keepingCapacity: true)
            self.scratch.vectors.append(bytes.vector)
            return self.write(
                piece.lines,
                Written(
                    examined: piece.examined,
                    last: piece.lines.last?.seq,
                    changes: piece.changes
                )
            )
        }
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
