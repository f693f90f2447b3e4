import Glibc
import NIOCore
import StateMachineCore
import StateMachineWire

extension Connection {
    /// Queues a line that answers a request.
    func reply(_ line: [UInt8]) { self.append(line, replies: 1) }

    /// Queues a line; `replies` is 1 if it counts as a reply in flight.
    func append(_ line: [UInt8], replies: Int) {
        guard !self.isMute else { return }
        self.repliesInFlight += replies
        if let last = self.outbox.indices.last, self.outbox[last].mark == nil {
            self.outbox[last].bytes += line
            self.outbox[last].replies += replies
        } else {
            self.outbox.append(Segment(bytes: line, replies: replies))
        }
    }

    /// Queues the beginning of a watch.
    ///
    /// Its first line shows the state as it is now; changes follow when the lines before are written.
    func begin(_ watch: Watch) {
        guard !self.isMute else { return }
        self.watches.append(watch)
        self.append(watch.firstLine(self.server.report) ?? [], replies: 1)
        self.mark(.start(watch))
    }

    /// Queues the end of a watch: it is still sent what belongs before the lines queued so far.
    func end(_ watch: Watch) {
        watch.isEnding = true
        self.append([], replies: 0)
        self.mark(.end(watch))
    }

    private func mark(_ mark: Segment.Mark) {
        if let last = self.outbox.indices.last { self.outbox[last].mark = mark }
    }

    /// Writes what there is, and goes on reading or closes if that is what it waited for.
    func flush() {
        self.pump()
        if self.repliesInFlight < self.server.limits.repliesInFlight { self.serve() }
    }

    /// Writes all that can be written now.
    ///
    /// Watches first, replies after them: so a reply that carries a seq comes after every change up
    /// to it, as the watches are brought up to the head of the ring, and a reply is made from it.
    func pump() {
        while self.channel.isActive, !self.isBlocked {
            for watch in self.watches where watch.isRunning {
                guard self.writeChanges(of: watch) else { return }
            }
            guard !self.outbox.isEmpty else { return }
            let segment = self.outbox.removeFirst()
            switch segment.mark {
            case .start(let watch): watch.start()
            case .end(let watch): self.watches.removeAll { $0 === watch }
            case nil: break
            }
            guard self.write(segment.bytes[...], replies: segment.replies) else { return }
        }
    }

    /// Brings a watch up to the head of the ring; false if the socket did not take it all.
    private func writeChanges(of watch: Watch) -> Bool {
        let head = self.server.ring.head
        while watch.cursor < head {
            guard self.server.ring.reaches(back: watch.cursor) else {
                let missed = head - watch.reported
                watch.becomeLive(at: head)
                return self.write(
                    ServerLine.state(
                        id: watch.id,
                        self.server.report,
                        resync: .lagged,
                        missed: missed
                    )[...]
                )
            }
            guard watch.isPlain ? self.writeAll(of: watch) : self.writeSome(of: watch) else {
                return false
            }
        }
        guard watch.isReplaying else { return true }
        watch.becomeLive(at: head)
        return self.write(ServerLine.live(id: watch.id, self.server.report)[...])
    }

    /// Writes the ring's own bytes, all that are new, in one call.
    private func writeAll(of watch: Watch) -> Bool {
        let ring = watch.cursor..<self.server.ring.head
        self.server.vectors.removeAll(keepingCapacity: true)
        self.server.ring.appendSlices(after: watch.cursor, to: &self.server.vectors)
        return self.writeVectors(of: watch, examined: ring.upperBound) { [server = self.server] in
            ring.map { (seq: $0 + 1, length: server.ring[$0 + 1].length) }
        }
    }

    /// Writes changes line by line: only what the watch wants, with its id, marked if replayed.
    private func writeSome(of watch: Watch) -> Bool {
        let tail = watch.isReplaying ? ChangeLine.replayTail : nil
        var lines: [(seq: UInt64, length: Int)] = []
        var seq = watch.cursor
        self.server.vectors.removeAll(keepingCapacity: true)
        // A line takes four vectors: its head, the shared part that may wrap around, its tail.
        while seq < self.server.ring.head,
            self.server.vectors.count + 4 <= SocketWriter.vectorLimit
        {
            seq += 1
            let change = self.server.ring[seq]
            guard watch.only?.contains(where: { self.matches($0, change) }) ?? true else {
                continue
            }
            self.server.vectors.append(watch.head.vector)
            self.server.ring.appendSlices(
                of: change,
                without: ChangeLine.head.count,
                tail == nil ? 0 : ChangeLine.tail.utf8CodeUnitCount,
                to: &self.server.vectors
            )
            var length = watch.head.count + change.length - ChangeLine.head.count
            if let tail {
                self.server.vectors.append(tail.vector)
                length += tail.utf8CodeUnitCount - ChangeLine.tail.utf8CodeUnitCount
            }
            lines.append((seq, length))
        }
        guard !lines.isEmpty else {
            watch.cursor = seq
            return true
        }
        return self.writeVectors(of: watch, examined: seq) { lines }
    }

    private func matches(_ pattern: Pattern, _ change: ChangeRing<State>.Change) -> Bool {
        self.server.coding.matches(pattern, change.transition.new)
    }

    /// Writes the vectors that are set up, which are `lines`, and moves the cursor past what went.
    ///
    /// The line in which the socket stopped is copied and left to the channel: when the channel has
    /// written it, there is room again.
    private func writeVectors(
        of watch: Watch,
        examined: UInt64,
        lines: () -> [(seq: UInt64, length: Int)]
    ) -> Bool {
        let total = self.server.vectors.reduce(0) { $0 + $1.iov_len }
        let written: Int
        switch self.writer.write(&self.server.vectors) {
        case .written(let count): written = count
        case .gone:
            self.dropOutput()
            return false
        }
        let lines = written == total && !watch.isPlain || written < total ? lines() : []
        guard written < total else {
            watch.cursor = examined
            watch.reported = lines.last?.seq ?? examined
            return true
        }
        var end = 0
        for line in lines {
            end += line.length
            guard end > written else { continue }
            watch.cursor = line.seq
            watch.reported = line.seq
            break
        }
        self.block(self.server.vectors.bytes(written..<end)[...], replies: 0)
        return false
    }

    /// Writes bytes; what the socket does not take is left to the channel.
    private func write(_ bytes: ArraySlice<UInt8>, replies: Int = 0) -> Bool {
        guard !bytes.isEmpty else {
            self.repliesInFlight -= replies
            return true
        }
        switch self.writer.write(bytes) {
        case .written(bytes.count):
            self.repliesInFlight -= replies
            return true
        case .written(let count):
            self.block(bytes.dropFirst(count), replies: replies)
            return false
        case .gone:
            self.dropOutput()
            return false
        }
    }

    /// Forgets all that is for the client, who reads no more.
    ///
    /// The connection is not closed here: what the client has sent is still to be dealt with, and its
    /// end is still to be seen.
    func dropOutput() {
        self.isMute = true
        self.outbox = []
        self.repliesInFlight = 0
        for wait in self.waits { wait.timeout?.cancel() }
        self.watches = []
        self.waits = []
        self.sets = []
    }

    private func block(_ rest: ArraySlice<UInt8>, replies: Int) {
        self.isBlocked = true
        let buffer = self.channel.allocator.buffer(bytes: rest)
        self.channel.writeAndFlush(buffer).assumeIsolated().whenComplete { _ in
            // A failure means that the channel is closing, which it says itself.
            self.channel.eventLoop.assumeIsolated().execute {
                guard self.isBlocked else { return }
                self.isBlocked = false
                self.repliesInFlight -= replies
                self.flush()
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var vector: iovec {
        iovec(iov_base: UnsafeMutableRawPointer(mutating: self.baseAddress), iov_len: self.count)
    }
}

extension StaticString {
    fileprivate var vector: iovec {
        UnsafeRawBufferPointer(start: self.utf8Start, count: self.utf8CodeUnitCount).vector
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
                let range = wanted.lowerBound - start..<wanted.upperBound - start
                bytes.append(contentsOf: part[range])
            }
            start += part.count
        }
        return bytes
    }
}
