import FoundationEssentials
import NIOCore
import StateMachineProtocol

/// Answers that a client has not been sent, in the order of its requests, and its socket.
///
/// Writing goes straight to the socket (see ``SocketWriter``), and through the channel only for what the
/// socket did not take, which is at most one line, the replies in flight or those that were offered together.
/// So a client that does not read costs that, and its cursors.
///
/// Belongs to the event loop.
final class Outbox {
    private let server: StateServer
    private let scratch: ScratchBuffers
    private let user: User
    private let channel: any Channel
    private let turn: ConnectionTurn
    private let writer: SocketWriter

    private var state = OutboxState.free
    private var queue = LineQueue()
    /// The answer to `history` that is being written; no line goes before it has ended.
    private(set) var run: HistoryRun?
    /// The answer to a request that is stored on disk first; no other request is read before it is given.
    private var lateReply: [UInt8]?
    /// Replies that the client has not been sent, including those in the channel.
    private var repliesInFlight = 0
    /// Bytes that the client has not been sent: the lines, the requests that `history` is answered
    /// from, and what the channel holds.
    private var bytes = 0 {
        didSet { self.user.replyBytes += self.bytes - oldValue }
    }
    /// Bytes that the client has been sent.
    private(set) var sent: UInt64 = 0

    init(
        server: StateServer,
        user: User,
        channel: any Channel,
        descriptor: CInt,
        turn: ConnectionTurn
    ) {
        self.server = server
        self.scratch = server.scratch
        self.user = user
        self.channel = channel
        self.turn = turn
        self.writer = SocketWriter(descriptor: descriptor)
    }

    // MARK: - In order

    /// Queues a line that answers a request; changes up to `seq` go before it.
    func reply(_ line: [UInt8], after seq: UInt64 = 0) { self.append(line, replies: 1, after: seq) }

    /// Replies with the line that the server has put together; changes up to `seq` go before it.
    func replyWithLine(after seq: UInt64) {
        guard !self.isClosed else { return }
        if self.queue.isEmpty { self.queue.begin(in: self.scratch.takeReplies()) }
        self.scratch.line.withBytes {
            self.queue.reply($0, after: seq)
            self.bytes += $0.count
        }
        self.repliesInFlight += 1
    }

    /// Whether an answer waits for the disk.
    var owesLateReply: Bool { self.lateReply != nil }

    /// Keeps the answer to a request that is stored first, until ``giveLateReply(_:)``.
    func replyLater(_ line: [UInt8]) { self.lateReply = line }

    /// Gives that answer, or what `answer` makes of it.
    func giveLateReply(_ answer: ([UInt8]) -> [UInt8] = { $0 }) {
        guard let line = self.lateReply.take() else { return }
        self.reply(answer(line))
        self.turn.want()
    }

    /// Queues a line; `replies` is 1 if it counts as a reply in flight, and `mark` is what happens when its
    /// turn comes.
    func append(_ line: [UInt8], replies: Int, after seq: UInt64 = 0, mark: LineQueue.Mark? = nil) {
        guard !self.isClosed else { return }
        self.repliesInFlight += replies
        self.bytes += line.count
        self.queue.append(line, replies: replies, after: seq, mark: mark)
    }

    /// Queues an answer to `history`, which is written from the changes themselves when its turn has come.
    func append(_ run: HistoryRun) {
        guard !self.isClosed else { return }
        self.bytes += run.request.count
        self.append([], replies: 1, mark: .history(run))
    }

    /// Whether nothing is left for the client, not even in the channel.
    var isEmpty: Bool { !self.isBlocked && !self.hasLines }

    /// Whether the next lines have begun: nothing else is written before their end.
    private(set) var isMidLine = false

    /// Whether lines wait for their turn.
    var hasSegments: Bool { !self.queue.isEmpty }

    /// Whether something waits to be written.
    var hasLines: Bool { !self.queue.isEmpty || self.run != nil }

    /// The change that has to go before the next lines; nil if there are none.
    var nextSeq: UInt64? { self.queue.nextSeq }

    /// What happens before the next lines are written.
    var nextMark: LineQueue.Mark? { self.queue.nextMark }

    /// Replies with a line that others are sent too, of which no copy is made, and the request's `id`.
    func reply(_ line: [UInt8], id: RequestID?) {
        guard let id, !self.isClosed else { return self.reply(shared: line, from: 0) }
        let head = #"{"type":"reply""#.utf8.count
        let named = ChangeLine.head(id: id).dropFirst(ChangeLine.head.count)
        self.append(Array(line[..<head] + named), replies: 0)
        self.reply(shared: line, from: head)
    }

    private func reply(shared line: [UInt8], from start: Int) {
        guard !self.isClosed else { return }
        self.repliesInFlight += 1
        self.bytes += line.count - start
        self.queue.append(shared: line, from: start)
    }

    /// Writes the next lines; false if the socket did not take it all.
    ///
    /// Of what it did not take, the channel is left a copy of a piece at a time.
    func writeNext() -> Bool {
        var segment = self.queue.takeNext()
        if case .history(let run) = segment.mark { self.run = run }
        segment.mark = nil
        self.isMidLine = false
        let total = segment.rest.count
        self.bytes -= total
        guard let count = total == 0 ? 0 : self.offer(segment.rest) else { return false }
        guard count < total else {
            self.repliesInFlight -= segment.replies
            if segment.start == 0 { self.scratch.giveBack(&segment.bytes) }
            return true
        }
        let left = segment.rest.dropFirst(count)
        guard left.count > Self.pieceBytes else {
            self.leave(left, replies: segment.replies)
            return false
        }
        self.leave(left.prefix(Self.pieceBytes))
        segment.start = left.startIndex + Self.pieceBytes
        self.bytes += segment.rest.count
        self.queue.putBack(segment)
        self.isMidLine = true
        return false
    }

    /// How much of what the socket did not take is copied for the channel.
    ///
    /// 64 KiB: as much as a client may owe.
    private static let pieceBytes = 64 * 1024

    /// Ends the answer to `history` that is being written; false if the socket did not take it all.
    func endRun() -> Bool {
        guard let run = self.run.take() else { return true }
        self.bytes -= run.request.count
        return self.write(self.server.summary(of: run)[...])
    }

    /// Ends the answers to `history` where they are, those that wait for their turn included.
    func stopHistory() {
        self.run?.stop()
        for run in self.queue.runs { run.stop() }
    }

    // MARK: - How much

    /// Whether the client has few enough unread answers.
    var mayTakeMore: Bool {
        (self.repliesInFlight < self.server.limits.repliesInFlight || self.mayGather)
            && self.mayOwe
    }

    /// Whether more answers may wait for the client to read them.
    ///
    /// A client that has read everything is not kept waiting by the user's other clients.
    private var mayOwe: Bool {
        guard self.bytes > 0 else { return true }
        let limits = self.server.limits
        return self.owesLess(than: limits.replyBytesPerConnection)
            && self.user.mayOwe(within: limits)
    }

    /// Whether the client has less than so many bytes to read.
    func owesLess(than bytes: Int) -> Bool { self.bytes < bytes }

    /// Whether queued answers may wait to be written together with later ones.
    ///
    /// Each write wakes the client, which costs as much as several sets.
    private var mayGather: Bool {
        !self.isBlocked && self.run == nil && self.queue.areOne(within: Self.gatheredBytes)
    }

    /// Bytes of answers that are written together, even beyond the replies that may be in flight.
    ///
    /// 16 KiB: a hundred replies. Measured: with 64 KiB, all that one read brings, a set cost a tenth more.
    private static var gatheredBytes: Int { 16 * 1024 }

    // MARK: - To the socket

    /// Whether bytes can go to the socket.
    var isFree: Bool { self.state.isFree }

    /// Whether what the socket did not take is still to be written.
    var isBlocked: Bool { self.state.isBlocked }

    /// Whether the client no longer reads.
    var isClosed: Bool { self.state.isClosed }

    /// Whether the peer has closed its end, not just its sending side.
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

    /// Writes as much as the socket takes; returns how much that is, nil if the client reads no
    /// more.
    func offer(_ bytes: ArraySlice<UInt8>) -> Int? { self.count(self.writer.write(bytes)) }

    /// Writes the vectors that the server has put together, as ``offer(_:)`` does bytes.
    func offerVectors() -> Int? { self.count(self.writer.write(&self.scratch.vectors)) }

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
        self.state = .blocked(buffer, replies: replies)
        self.channel.writeAndFlush(buffer).assumeIsolated().whenComplete { _ in
            // A failure means that the channel is closing, which it says itself.
            self.channel.eventLoop.assumeIsolated().execute { self.channelWrote(count, replies) }
        }
    }

    private func channelWrote(_ count: Int, _ replies: Int) {
        guard self.isBlocked else { return }
        self.state = .free
        self.repliesInFlight -= replies
        self.bytes -= count
        self.sent += UInt64(count)
        self.server.counters.bytes.add(count)
        self.server.counters.writes.add()
        self.turn.hasRoom()
    }

    /// Drops everything for the client, which no longer reads.
    func close() {
        self.state = .closed
        self.queue.clear()
        self.isMidLine = false
        self.run = nil
        self.repliesInFlight = 0
        self.bytes = 0
    }

    // MARK: - From one process to the next

    /// Duplicates the socket for the next process; returns its inode too, nil if that fails.
    func duplicateSocket() -> (inode: UInt64, descriptor: CInt)? {
        self.channel.isActive ? self.writer.duplicate() : nil
    }

    /// Records unwritten output for the next process; `place` gives a watch's position there.
    func handOver(to record: inout HandOverRecord.Connection, place: (Watch) -> Int) {
        record.bytes = self.sent
        record.history = self.run?.record
        let begun = self.isMidLine ? self.queue.takeNext() : LineQueue.Segment()
        record.outbox = self.queue.record(place: place)
        record.unsent = Data(begun.rest)
        record.unsentReplies = begun.replies
        guard case .blocked(let buffer, let replies) = self.state else { return }
        let left = self.channel.syncOptions.flatMap { options in
            // Refused only by a channel that is closed, whose bytes nobody reads.
            try? options.getOption(.bufferedWritableBytes)
        }
        record.unsent.insert(contentsOf: buffer.readableBytesView.suffix(left ?? 0), at: 0)
        record.unsentReplies += left ?? 0 > 0 ? replies : 0
    }

    /// Takes over the last process's answers in order; `watch` returns the watch at a position.
    func resume(
        with record: HandOverRecord.Connection,
        of schema: StateSchema,
        watch: (Int) -> Watch?
    ) {
        for segment in record.outbox {
            let mark = segment.mark.flatMap { LineQueue.Mark($0, of: schema, watch: watch) }
            if case .history(let run) = mark { self.bytes += run.request.count }
            self.append(Array(segment.bytes), replies: segment.replies, mark: mark)
        }
        self.run = record.history.flatMap { HistoryRun($0, of: schema) }
        self.bytes += self.run?.request.count ?? 0
    }

    /// Writes what is left of the line that the last process was writing.
    func resumeLine(of record: HandOverRecord.Connection) {
        self.sent = record.bytes
        guard !record.unsent.isEmpty else { return }
        self.repliesInFlight += record.unsentReplies
        _ = self.write(Array(record.unsent)[...], replies: record.unsentReplies)
    }
}

/// Whether a client's output goes to its socket.
enum OutboxState {
    /// It does.
    case free
    /// It waits: the channel holds bytes, and replies in them, that the socket did not take.
    ///
    /// The channel may have written some of them.
    case blocked(ByteBuffer, replies: Int)
    /// It goes nowhere any more: the client no longer reads, and its output is dropped.
    case closed

    var isFree: Bool {
        switch self {
        case .free: true
        case .blocked, .closed: false
        }
    }

    var isBlocked: Bool {
        switch self {
        case .blocked: true
        case .free, .closed: false
        }
    }

    var isClosed: Bool {
        switch self {
        case .closed: true
        case .free, .blocked: false
        }
    }
}

/// The beginning of one id's change lines, in memory that a socket write can point at.
final class LineHead {
    let bytes: UnsafeRawBufferPointer

    init(_ id: RequestID?) {
        let head = id.map { ChangeLine.head(id: $0) } ?? ChangeLine.head
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: head.count, alignment: 1)
        memory.copyBytes(from: head)
        self.bytes = UnsafeRawBufferPointer(memory)
    }

    deinit { self.bytes.deallocate() }
}
