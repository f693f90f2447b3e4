import FoundationEssentials
import Glibc
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// What a client is owed, in the order of its requests, its socket, and the time that there is to write.
///
/// Writing goes straight to the socket: changes are sent from the ring's memory, in one system call however many
/// there are, and nothing is queued or allocated for a write. The channel that owns the descriptor writes only what
/// the socket did not take, which is at most one line, the replies in flight or those that were offered together;
/// meanwhile nothing else is written. So a client that does not read costs that, and its cursors.
///
/// Belongs to the event loop.
final class Output {
    /// Lines that are written together.
    struct Segment {
        var bytes: [UInt8] = []
        /// How many of the bytes do not count: they have been written, or others share them.
        var start = 0
        var replies = 0
        /// The newest change that they refer to, which goes before them.
        var seq: UInt64 = 0
        var mark: Mark?

        /// Its bytes that are to be written.
        var rest: ArraySlice<UInt8> { self.bytes[self.start...] }

        /// Whether more lines may join it.
        fileprivate var isOpen: Bool { self.mark == nil && self.start == 0 }

        fileprivate mutating func append(
            _ line: UnsafeRawBufferPointer,
            replies: Int,
            after seq: UInt64,
            mark: Mark?
        ) {
            self.bytes.append(contentsOf: line)
            self.replies += replies
            self.seq = max(self.seq, seq)
            self.mark = mark
        }
    }

    /// What happens when the lines before it are written.
    enum Mark {
        case start(Watch)
        case end(Watch)
        case history(HistoryRun)
    }

    /// Whether bytes go to the socket.
    private enum State {
        /// They do.
        case free
        /// They wait: the channel holds bytes, and replies in them, that the socket did not take.
        ///
        /// The channel may have written some of them.
        case blocked(ByteBuffer, replies: Int)
        /// They go nowhere any more: the client no longer reads, and its output is dropped.
        case closed
    }

    let server: StateServer
    let peer: Peer
    /// Who the client is, for all that it asks for without a cause; nil before it asks for a change.
    private var origin: Origin?
    let user: User
    private let channel: any Channel
    private let descriptor: CInt
    let scratch: ScratchBuffers
    /// The connection, for as long as the server knows it.
    private var connection: Connection?

    @exclusivity(unchecked) private var state = State.free
    @exclusivity(unchecked) private var queue: [Segment] = []
    /// The answer to a request that is stored on disk first; no other request is read before it is given.
    private var lateReply: [UInt8]?
    /// Bytes that the client has not been sent: the lines, the requests that `history` is answered
    /// from, and what the channel holds.
    private var bytes = 0 {
        didSet { self.user.replyBytes += self.bytes - oldValue }
    }
    /// Bytes that the client has been sent.
    private(set) var sent: UInt64 = 0

    /// When the current write has to stop; nil: with the connection's turn.
    private var end: NIODeadline?
    /// Whether there was no time for all that the connection has to do.
    private(set) var isCutShort = false

    init(server: StateServer, peer: Peer, user: User, channel: any Channel, descriptor: CInt) {
        self.server = server
        self.peer = peer
        self.user = user
        self.channel = channel
        self.descriptor = descriptor
        self.scratch = server.scratch
    }

    // MARK: - Time

    /// Begins turns for the connection, which lives until ``endTurns()``.
    func beginTurns(of connection: Connection) { self.connection = connection }

    func endTurns() { self.connection = nil }

    /// Puts the connection in line, unless it is there already.
    func want() {
        if let connection { self.server.turns.want(connection) }
    }

    /// Has the next round look at the connection.
    func wake() {
        if let connection { self.server.turns.wake(connection) }
    }

    /// One of its readers was found by that change, and is to be judged.
    func hasFound(at seq: UInt64) {
        if let connection { self.server.turns.found(connection, at: seq) }
    }

    /// Looks the user's resting readers up among the newest changes, as far as there is time in a turn; returns whether
    /// there was.
    func search() -> Bool {
        guard self.user.readers.seq < self.server.past.ring.head else { return true }
        let end = min(self.end ?? self.server.turns.end, .now() + Turns.length)
        if self.server.search(for: self.user, until: end) { return true }
        self.isCutShort = true
        return false
    }

    /// Begins a turn, in which there is time for everything until it turns out otherwise.
    func beginTurn() { self.isCutShort = false }

    /// Notes that there is no time for the rest.
    func cutShort() { self.isCutShort = true }

    /// Calls `body` to write; it stops then, or with the connection's turn if that is nil, and continues in the next turn.
    ///
    /// In the middle of one write there may be another: readers are written to before the ring loses changes.
    func write(until end: NIODeadline?, _ body: () -> Void) {
        let outer = exchange(&self.end, with: end)
        let wasCutShort = exchange(&self.isCutShort, with: false)
        body()
        if self.isCutShort { self.want() }
        self.isCutShort = self.isCutShort || wasCutShort
        self.end = outer
    }

    /// Whether to leave the rest for the next turn; if so, notes that.
    func mustStop() -> Bool {
        let isOver = NIODeadline.now() >= self.end ?? self.server.turns.end
        if isOver { self.isCutShort = true }
        return isOver
    }

    /// A set was decided after others had their turn.
    func setWasDecided() {
        if let connection { self.server.turns.answered(connection) }
    }

    /// Who the client is.
    var client: Origin? {
        // It may have come while the rights were read that are in force now.
        if self.origin == nil { self.readCredentials() }
        if self.origin == nil { self.keepOrigin(self.user.isPrivileged ? .privileged : .unknown) }
        return self.origin
    }

    /// Who the client is, and why it asks for something.
    ///
    /// - Throws: `forbidden`: only root and the daemon's own user may pass over voters.
    func origin(of terms: ChangeTerms) throws(WireError) -> Origin? {
        let client = self.client
        guard !terms.isPlain, terms.cause != nil || terms.isForced else { return client }
        guard !terms.isForced || self.user.isPrivileged else {
            throw WireError(
                .forbidden,
                "only root and the daemon's own user may use \"force\""
            )
        }
        return .of(
            client?.peer,
            at: client?.host,
            because: terms.cause,
            as: client?.credentials ?? .unknown,
            isForced: terms.isForced
        )
    }

    /// Reads the client's groups where the machine's file says who may do what.
    ///
    /// While it is there: what it has sent is carried out also when its socket is another one's.
    func readCredentials() {
        guard !self.user.isPrivileged, self.server.hasRights else { return }
        self.keepOrigin(Credentials(groupsOf: self.descriptor))
    }

    private func keepOrigin(_ credentials: Credentials) {
        self.origin = .of(
            self.peer.written,
            at: self.server.sharing?.engine.host,
            because: nil,
            as: credentials
        )
    }

    // MARK: - In order

    /// Queues a line that answers a request; changes up to `seq` go before it.
    func reply(_ line: [UInt8], after seq: UInt64 = 0) { self.append(line, replies: 1, after: seq) }

    /// Replies with the line that the server has put together; changes up to `seq` go before it.
    func replyWithLine(after seq: UInt64) {
        self.scratch.line.withBytes { self.append($0, replies: 1, after: seq) }
    }

    /// Whether an answer waits for the disk.
    var owesLateReply: Bool { self.lateReply != nil }

    /// Keeps the answer to a request that is stored first, until ``giveLateReply(_:)``.
    func replyLater(_ line: [UInt8]) { self.lateReply = line }

    /// Gives that answer, or what `answer` makes of it; changes up to `seq` go before it.
    func giveLateReply(after seq: UInt64 = 0, _ answer: ([UInt8]) -> [UInt8] = { $0 }) {
        guard let line = self.lateReply.take() else { return }
        self.reply(answer(line), after: seq)
        self.want()
    }

    /// Gives no answer: the connection ends.
    func dropLateReply() { self.lateReply = nil }

    /// Queues a line; `replies` is 1 if it counts as a reply in flight, and `mark` is what happens when its
    /// turn comes.
    func append(_ line: [UInt8], replies: Int, after seq: UInt64 = 0, mark: Mark? = nil) {
        line.withUnsafeBytes { self.append($0, replies: replies, after: seq, mark: mark) }
    }

    private func append(
        _ line: UnsafeRawBufferPointer,
        replies: Int,
        after seq: UInt64,
        mark: Mark? = nil
    ) {
        guard !self.isClosed else { return }
        self.bytes += line.count
        if self.queue.isEmpty { self.queue.append(Segment(bytes: self.scratch.takeReplies())) }
        if self.queue.last?.isOpen != true { self.queue.append(Segment()) }
        self.queue[self.queue.count - 1].append(line, replies: replies, after: seq, mark: mark)
    }

    /// Lets go of all that refers to changes of a numbering that is about to end: lines wait for no change and begin and end nothing,
    /// and answers to `history` end where they are.
    func leaveNumbering() {
        for index in self.queue.indices {
            self.queue[index].seq = 0
            switch self.queue[index].mark {
            case .start, .end: self.queue[index].mark = nil
            case .history(let run): run.cutByRestart()
            case nil: break
            }
        }
    }

    /// Queues an answer to `history`, which is written from the changes themselves when its turn has come.
    func append(_ run: HistoryRun) {
        guard !self.isClosed else { return }
        self.bytes += run.request.count
        self.queue.append(Segment(replies: 1, mark: .history(run)))
    }

    /// The answer to `history` that is being written; no line goes before it has ended.
    var run: HistoryRun? {
        if case .history(let run)? = self.queue.first?.mark { run } else { nil }
    }

    /// Whether nothing is left for the client, not even in the channel.
    var isEmpty: Bool { !self.isBlocked && !self.hasLines }

    /// Whether the next lines have begun: nothing else is written before their end.
    private(set) var isMidLine = false

    /// Whether something waits to be written.
    var hasLines: Bool { !self.queue.isEmpty }

    /// The change that has to go before the next lines; nil if there are none.
    var nextSeq: UInt64? { self.queue.first?.seq }

    /// What happens before the next lines are written.
    var nextMark: Mark? { self.queue.first?.mark }

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
        self.bytes += line.count - start
        self.queue.append(Segment(bytes: line, start: start, replies: 1))
    }

    /// Writes the next lines; of what the socket does not take, the channel is left a copy of a piece at a time.
    func writeNext() {
        var segment = self.queue.removeFirst()
        segment.mark = nil
        self.isMidLine = false
        let total = segment.rest.count
        self.bytes -= total
        guard let count = total == 0 ? 0 : self.offer(segment.rest) else { return }
        guard count < total else {
            if segment.start == 0 { self.scratch.giveBack(&segment.bytes) }
            return
        }
        let left = segment.rest.dropFirst(count)
        guard left.count > Self.pieceBytes else {
            return self.spill(left, replies: segment.replies)
        }
        self.spill(left.prefix(Self.pieceBytes))
        segment.start = left.startIndex + Self.pieceBytes
        self.bytes += segment.rest.count
        self.queue.insert(segment, at: 0)
        self.isMidLine = true
    }

    /// How much of what the socket did not take is copied for the channel.
    ///
    /// 64 KiB: as much as a client may owe.
    private static let pieceBytes = 64 * 1024

    /// Writes what follows the changes in the answer to `history` whose turn it is, and removes it.
    func finishRun() {
        guard let run = self.run else { return }
        self.queue.removeFirst()
        self.bytes -= run.request.count
        self.write(self.server.summary(of: run)[...])
    }

    /// Ends the answers to `history` where they are, those that wait for their turn included.
    func stopHistory() {
        for segment in self.queue {
            if case .history(let run) = segment.mark { run.stop() }
        }
    }

    // MARK: - How much

    /// Replies that the client has not been sent, including those in the channel.
    private var repliesInFlight: Int {
        let inChannel = if case .blocked(_, let replies) = self.state { replies } else { 0 }
        return self.queue.reduce(inChannel) { $0 + $1.replies }
    }

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
        !self.isBlocked && self.run == nil && self.queue.count == 1
            && self.queue[0].bytes.count < Self.gatheredBytes
    }

    /// Bytes of answers that are written together, even beyond the replies that may be in flight.
    ///
    /// 16 KiB: a hundred replies. Measured: with 64 KiB, all that one read brings, a set cost a tenth more.
    private static var gatheredBytes: Int { 16 * 1024 }

    // MARK: - To the socket

    /// Whether bytes can go to the socket.
    var isFree: Bool { if case .free = self.state { true } else { false } }

    /// Whether what the socket did not take is still to be written.
    var isBlocked: Bool { if case .blocked = self.state { true } else { false } }

    /// Whether the client no longer reads.
    var isClosed: Bool { if case .closed = self.state { true } else { false } }

    /// Whether the peer has closed its end, not just its sending side.
    var isHungUp: Bool {
        var poll = pollfd(fd: self.descriptor, events: 0, revents: 0)
        return Glibc.poll(&poll, 1, 0) == 1 && poll.revents & Int16(POLLHUP) != 0
    }

    /// Writes bytes; what the socket does not take is left to the channel.
    func write(_ bytes: ArraySlice<UInt8>, replies: Int = 0) {
        guard !bytes.isEmpty, let count = self.offer(bytes), count < bytes.count else { return }
        self.spill(bytes.dropFirst(count), replies: replies)
    }

    /// Writes as much as the socket takes; returns how much that is, nil if the client reads no
    /// more.
    private func offer(_ bytes: ArraySlice<UInt8>) -> Int? {
        self.count(Self.send(bytes, to: self.descriptor))
    }

    /// Writes the vectors that the server has put together, as ``offer(_:)`` does bytes.
    func offerVectors() -> Int? {
        self.count(
            self.scratch.vectors.withUnsafeMutableBufferPointer { buffer in
                // The common case, for which the kernel has less to copy.
                if buffer.count == 1 {
                    let part = buffer[0]
                    return Self.send {
                        Glibc.send(self.descriptor, part.iov_base, part.iov_len, $0)
                    }
                }
                var message = msghdr()
                message.msg_iov = buffer.baseAddress
                message.msg_iovlen = buffer.count
                return Self.send { sendmsg(self.descriptor, &message, $0) }
            }
        )
    }

    /// Counts what a write took; nil: the client reads no more.
    private func count(_ count: Int?) -> Int? {
        guard let count else {
            self.close()
            return nil
        }
        self.wrote(count)
        return count
    }

    private func wrote(_ count: Int) {
        self.sent += UInt64(count)
        self.server.counters.add(.bytes, count)
        self.server.counters.add(.writes)
    }

    /// Writes as much as a socket takes at once; nil if the peer no longer reads.
    static func send(_ bytes: ArraySlice<UInt8>, to descriptor: CInt) -> Int? {
        bytes.withUnsafeBytes { buffer in
            self.send { Glibc.send(descriptor, buffer.baseAddress, buffer.count, $0) }
        }
    }

    private static func send(_ call: (CInt) -> Int) -> Int? {
        while true {
            let count = call(CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS: return 0
            default: return nil
            }
        }
    }

    /// Leaves to the channel what the socket did not take; until that is written nothing else is.
    func spill(_ rest: ArraySlice<UInt8>, replies: Int = 0) {
        let count = rest.count
        self.bytes += count
        let buffer = self.channel.allocator.buffer(bytes: rest)
        self.state = .blocked(buffer, replies: replies)
        self.channel.writeAndFlush(buffer).assumeIsolated().whenComplete { _ in
            // A failure means that the channel is closing, which it says itself.
            self.channel.eventLoop.assumeIsolated().execute { self.channelWrote(count) }
        }
    }

    private func channelWrote(_ count: Int) {
        guard self.isBlocked else { return }
        self.state = .free
        self.bytes -= count
        self.wrote(count)
        self.connection?.hasRoom()
    }

    /// Drops everything for the client, which no longer reads.
    func close() {
        self.state = .closed
        self.queue = []
        self.isMidLine = false
        self.bytes = 0
    }

    // MARK: - From one process to the next

    /// Duplicates the socket for the next process; returns its inode too, nil if that fails.
    func duplicateSocket() -> (inode: UInt64, descriptor: CInt)? {
        var status = stat()
        guard self.channel.isActive, fstat(self.descriptor, &status) == 0 else { return nil }
        // 3 or above: never the number of a standard descriptor.
        let copy = fcntl(self.descriptor, F_DUPFD_CLOEXEC, 3)
        return copy >= 0 ? (UInt64(status.st_ino), copy) : nil
    }

    /// Records unwritten output for the next process; `place` gives a watch's position there.
    func handOver(to record: inout HandOverRecord.Connection, index: (Watch) -> Int) {
        record.bytes = self.sent
        let begun = self.isMidLine ? self.queue.removeFirst() : Segment()
        record.outbox = self.queue.map { $0.record(index: index) }
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
        of schema: Schema,
        watch: (Int) -> Watch?
    ) {
        for segment in record.outbox {
            let mark = segment.mark.flatMap { Mark($0, of: schema, watch: watch) }
            if case .history(let run) = mark {
                self.append(run)
            } else {
                self.append(Array(segment.bytes), replies: segment.replies, mark: mark)
            }
        }
    }

    /// Writes what is left of the line that the last process was writing.
    func resumeLine(of record: HandOverRecord.Connection) {
        self.sent = record.bytes
        guard !record.unsent.isEmpty else { return }
        self.write(Array(record.unsent)[...], replies: record.unsentReplies)
    }
}
