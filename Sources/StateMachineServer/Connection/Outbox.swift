import FoundationEssentials
import Glibc
import NIOCore
import StateMachineProtocol

/// What a client has been answered and not been sent: the lines in the order of its requests, and the socket
/// that they go to.
///
/// Writing goes straight to the socket (see ``SocketWriter``), and through the channel only for what the
/// socket did not take, which is at most one line, the replies in flight or those that were offered together.
/// So a client that does not read costs that, and its cursors.
///
/// Belongs to the event loop; see ``StateServer`` for the exclusivity of its variables.
final class Outbox {
    /// Lines in the order of their requests, and what happens when their turn comes.
    private struct Segment {
        var bytes: [UInt8] = []
        var replies = 0
        /// The newest change that they speak of, which goes before them.
        var seq: UInt64 = 0
        var mark: Mark?
    }

    /// What happens when the lines before it are written.
    enum Mark {
        case start(Watch)
        case end(Watch)
        case history(HistoryRun)
    }

    /// Where bytes go.
    private enum Way {
        /// To the socket.
        case free
        /// Nowhere: the channel holds bytes that the socket did not take, and so many replies in them. It may
        /// have written some of it.
        case blocked(ByteBuffer, replies: Int)
        /// Nowhere ever: the client reads no more, and what is for it is dropped.
        case closed
    }

    private let server: StateServer
    private let user: User
    private let channel: any Channel
    private let turn: ConnectionTurn
    private let writer: SocketWriter

    @exclusivity(unchecked) private var way = Way.free
    @exclusivity(unchecked) private var segments: [Segment] = []
    /// The answer to `history` that is being written; no segment goes before its end.
    @exclusivity(unchecked) private(set) var run: HistoryRun?
    /// Replies that the client has not been sent, the channel's part included.
    @exclusivity(unchecked) private var repliesInFlight = 0
    /// Bytes of what the client has not been sent: the lines, the requests that `history` is answered from,
    /// and the channel's part.
    @exclusivity(unchecked) private var bytes = 0 {
        didSet { self.user.replyBytes += self.bytes - oldValue }
    }
    /// Bytes that the client has been sent.
    @exclusivity(unchecked) private(set) var sent: UInt64 = 0

    init(
        server: StateServer,
        user: User,
        channel: any Channel,
        descriptor: CInt,
        turn: ConnectionTurn
    ) {
        self.server = server
        self.user = user
        self.channel = channel
        self.turn = turn
        self.writer = SocketWriter(descriptor: descriptor)
    }

    // MARK: - In order

    /// Queues a line that answers a request; changes up to `seq` go before it.
    func reply(_ line: [UInt8], after seq: UInt64 = 0) { self.append(line, replies: 1, after: seq) }

    /// The same with the line that the server has put together.
    func replyWithLine(after seq: UInt64) {
        guard !self.isClosed else { return }
        if self.segments.isEmpty {
            self.segments.append(Segment(bytes: exchange(&self.server.replies, with: [])))
        } else if self.segments[self.segments.count - 1].mark != nil {
            self.segments.append(Segment())
        }
        let last = self.segments.count - 1
        self.server.line.withBytes {
            self.segments[last].bytes.append(contentsOf: $0)
            self.bytes += $0.count
        }
        self.segments[last].replies += 1
        self.segments[last].seq = max(self.segments[last].seq, seq)
        self.repliesInFlight += 1
    }

    /// Queues a line; `replies` is 1 if it counts as a reply in flight, and `mark` is what happens when its
    /// turn comes.
    func append(_ line: [UInt8], replies: Int, after seq: UInt64 = 0, mark: Mark? = nil) {
        guard !self.isClosed else { return }
        self.repliesInFlight += replies
        self.bytes += line.count
        if let last = self.segments.indices.last, self.segments[last].mark == nil {
            self.segments[last].bytes += line
            self.segments[last].replies += replies
            self.segments[last].seq = max(self.segments[last].seq, seq)
            self.segments[last].mark = mark
        } else {
            self.segments.append(Segment(bytes: line, replies: replies, seq: seq, mark: mark))
        }
    }

    /// Queues an answer to `history`, which is written from the changes themselves when its turn has come.
    func append(_ run: HistoryRun) {
        guard !self.isClosed else { return }
        self.bytes += run.request.count
        self.append([], replies: 1, mark: .history(run))
    }

    /// Whether nothing is left for the client, in the channel neither.
    var isEmpty: Bool { !self.isBlocked && !self.hasLines }

    /// Whether lines wait for their turn.
    var hasSegments: Bool { !self.segments.isEmpty }

    /// Whether something waits to be written.
    var hasLines: Bool { !self.segments.isEmpty || self.run != nil }

    /// The change that the next lines have to come after; nil if there are none.
    var nextSeq: UInt64? { self.segments.first?.seq }

    /// What happens before the next lines are written.
    var nextMark: Mark? { self.segments.first?.mark }

    /// Writes the next lines; false if the socket did not take it all.
    func writeNext() -> Bool {
        var segment = self.segments.removeFirst()
        if case .history(let run) = segment.mark { self.run = run }
        self.bytes -= segment.bytes.count
        guard self.write(segment.bytes[...], replies: segment.replies) else { return false }
        self.server.keepRoom(&segment.bytes)
        return true
    }

    /// Ends the answer to `history` that is being written; false if the socket did not take it all.
    func endRun() -> Bool {
        guard let run = self.run.take() else { return true }
        self.bytes -= run.request.count
        return self.write(self.server.summary(of: run)[...])
    }

    // MARK: - How much

    /// Whether the client has few enough answers to read.
    var mayTakeMore: Bool {
        (self.repliesInFlight < self.server.limits.repliesInFlight || self.mayGather)
            && self.mayOwe
    }

    /// Whether more may be waiting for the client to read it.
    ///
    /// Who has read all is not kept waiting by the user's other clients.
    private var mayOwe: Bool {
        guard self.bytes > 0 else { return true }
        let limits = self.server.limits
        return self.owesLess(than: limits.replyBytesPerConnection)
            && self.user.mayOwe(within: limits)
    }

    /// Whether the client has less than so many bytes to read.
    func owesLess(than bytes: Int) -> Bool { self.bytes < bytes }

    /// Whether what has been answered may wait for the answers to come, and be offered to the socket with
    /// them: each write wakes the client, which costs several sets.
    private var mayGather: Bool {
        guard !self.isBlocked, self.run == nil, self.segments.count == 1 else { return false }
        return self.segments[0].bytes.count < Self.gatheredBytes
    }

    /// Answers that are offered to the socket together, in bytes, even if they are more than the replies
    /// that may be in flight.
    ///
    /// 16 KiB: a hundred replies. Measured: with 64 KiB, all that one read brings, a set cost a tenth more.
    private static var gatheredBytes: Int { 16 * 1024 }

    // MARK: - To the socket

    /// Whether bytes go to the socket.
    var isFree: Bool {
        switch self.way {
        case .free: true
        case .blocked, .closed: false
        }
    }

    /// Whether what the socket did not take is still to be written.
    var isBlocked: Bool {
        switch self.way {
        case .blocked: true
        case .free, .closed: false
        }
    }

    /// Whether the client reads no more.
    var isClosed: Bool {
        switch self.way {
        case .closed: true
        case .free, .blocked: false
        }
    }

    /// Whether the peer has closed its end, and not only said that it sends no more.
    var isHungUp: Bool { self.writer.isHungUp }

    /// Writes bytes; what the socket does not take is left to the channel, and then this is false.
    func write(_ bytes: ArraySlice<UInt8>, replies: Int = 0) -> Bool {
        let count = bytes.isEmpty ? 0 : self.offer(bytes)
        guard let count else { return false }
        guard count < bytes.count else {
            self.repliesInFlight -= replies
            return true
        }
        self.leave(bytes.dropFirst(count), replies: replies)
        return false
    }

    /// Writes bytes as far as the socket takes them; returns how many it took, nil if the client reads no
    /// more.
    func offer(_ bytes: ArraySlice<UInt8>) -> Int? { self.count(self.writer.write(bytes)) }

    /// The same with the vectors that the server has put together.
    func offerVectors() -> Int? { self.count(self.writer.write(&self.server.vectors)) }

    private func count(_ outcome: SocketWriter.Outcome) -> Int? {
        switch outcome {
        case .written(let count):
            self.sent += UInt64(count)
            self.server.counters.bytes.add(count)
            self.server.counters.writes.add()
            return count
        case .gone:
            self.close()
            return nil
        }
    }

    /// Leaves to the channel what the socket did not take; until that is written nothing else is.
    func leave(_ rest: ArraySlice<UInt8>, replies: Int = 0) {
        let count = rest.count
        self.bytes += count
        let buffer = self.channel.allocator.buffer(bytes: rest)
        self.way = .blocked(buffer, replies: replies)
        self.channel.writeAndFlush(buffer).assumeIsolated().whenComplete { _ in
            // A failure means that the channel is closing, which it says itself.
            self.channel.eventLoop.assumeIsolated().execute { self.channelWrote(count, replies) }
        }
    }

    private func channelWrote(_ count: Int, _ replies: Int) {
        guard self.isBlocked else { return }
        self.way = .free
        self.repliesInFlight -= replies
        self.bytes -= count
        self.sent += UInt64(count)
        self.server.counters.bytes.add(count)
        self.server.counters.writes.add()
        self.turn.hasRoom()
    }

    /// Drops all that is for the client, who reads no more.
    func close() {
        self.way = .closed
        self.segments = []
        self.run = nil
        self.repliesInFlight = 0
        self.bytes = 0
    }

    // MARK: - From one process to the next

    /// The socket as it goes to the next process, and its inode; nil if it cannot be duplicated.
    func duplicateSocket() -> (inode: UInt64, descriptor: CInt)? {
        var status = stat()
        guard self.channel.isActive, fstat(self.writer.descriptor, &status) == 0 else { return nil }
        // Past the numbers that the next program on this one's place expects to be free.
        let copy = fcntl(self.writer.descriptor, F_DUPFD_CLOEXEC, 3)
        return copy >= 0 ? (UInt64(status.st_ino), copy) : nil
    }

    /// Leaves what is not written to the next process; `place` is where it finds a watch.
    func handOver(to record: inout HandOverRecord.Connection, place: (Watch) -> Int) {
        record.bytes = self.sent
        record.history = self.run?.record
        record.outbox = self.segments.map { segment in
            let mark: HandOverRecord.Segment.Mark? =
                switch segment.mark {
                case .start(let watch): .start(place(watch))
                case .end(let watch): .end(place(watch))
                case .history(let run): .history(run.record)
                case nil: nil
                }
            return HandOverRecord.Segment(
                bytes: Data(segment.bytes),
                replies: segment.replies,
                mark: mark
            )
        }
        guard case .blocked(let buffer, let replies) = self.way else { return }
        let left = self.channel.syncOptions.flatMap { options in
            // Refused only by a channel that is closed, whose bytes nobody reads.
            try? options.getOption(.bufferedWritableBytes)
        }
        record.unsent = Data(buffer.readableBytesView.suffix(left ?? 0))
        record.unsentReplies = record.unsent.isEmpty ? 0 : replies
    }

    /// Goes on with the answers of the last process, in their order; `watch` is the one at a place there.
    func resume(
        with record: HandOverRecord.Connection,
        of schema: StateSchema,
        watch: (Int) -> Watch?
    ) {
        for segment in record.outbox {
            var mark: Mark?
            switch segment.mark {
            case .start(let index): mark = watch(index).map { .start($0) }
            case .end(let index): mark = watch(index).map { .end($0) }
            case .history(let record):
                let run = HistoryRun(record, of: schema)
                self.bytes += run?.request.count ?? 0
                mark = run.map { .history($0) }
            case nil: break
            }
            self.append(Array(segment.bytes), replies: segment.replies, mark: mark)
        }
        self.run = record.history.flatMap { HistoryRun($0, of: schema) }
        self.bytes += self.run?.request.count ?? 0
    }

    /// Writes what is left of the line that the last process was writing.
    func goOnWithLine(of record: HandOverRecord.Connection) {
        self.sent = record.bytes
        guard !record.unsent.isEmpty else { return }
        self.repliesInFlight += record.unsentReplies
        _ = self.write(Array(record.unsent)[...], replies: record.unsentReplies)
    }
}
