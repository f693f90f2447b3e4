import StateMachineProtocol

/// A connection's watches: begins and ends them, and brings all up to the newest change.
///
/// Belongs to the event loop.
final class Subscriptions {
    private let server: StateServer
    private let outbox: Outbox
    private let kept: KeptRequests
    private var writer: WatchWriter

    private var watches: [Watch] = [] {
        didSet {
            let change = self.watches.count - oldValue.count
            if change != 0 { self.server.watchesChanged(by: change) }
            let bytes = self.watches.reduce(0) { $0 + $1.request.count }
            self.kept.change(by: bytes - self.requestBytes)
            self.requestBytes = bytes
        }
    }
    /// Bytes of the requests that asked for them.
    private var requestBytes = 0

    init(_ changes: ChangeWriter, kept: KeptRequests) {
        self.server = changes.server
        self.outbox = changes.outbox
        self.kept = kept
        self.writer = WatchWriter(changes)
    }

    // MARK: - Requests

    func begin(_ call: WatchCall, id: RequestID?, _ line: [UInt8]) throws(WireError) {
        guard call.beatMs ?? .max >= RequestLimits.leastBeatMs else { throw WatchCall.beatTooShort }
        let watches = self.watches.filter { !$0.isEnding }
        guard !watches.contains(where: { $0.id == id }) else {
            throw WireError(
                .badRequest,
                id == nil
                    ? "this connection already has a watch without an id; give this one an id"
                    : "this connection already has a watch with this id; give another id"
            )
        }
        let limit = self.server.limits.watchesPerConnection
        try self.kept.checkRoom("watches", watches.count, of: limit)
        try self.kept.checkRoom(for: line)
        let resume = call.since.map { self.server.resumePoint($0) }
        self.begin(
            Watch(
                call,
                id: id,
                from: resume,
                head: self.server.report.seq,
                declarations: self.server.declarations.count,
                request: line
            )
        )
    }

    /// Begins the implicit watch of a connection, at the newest change.
    func beginImplicit() {
        self.server.catchUp()
        let head = self.server.report.seq
        self.begin(
            Watch(
                WatchCall(),
                id: nil,
                from: nil,
                head: head,
                declarations: self.server.declarations.count,
                isImplicit: true
            )
        )
    }

    /// Queues the beginning of a watch.
    ///
    /// Its first line shows the state as it is now; changes follow when the lines before are written.
    private func begin(_ watch: Watch) {
        guard !self.outbox.isClosed else { return }
        self.watches.append(watch)
        self.outbox.append(
            watch.firstLine(self.server.report, in: self.server.snapshot.state) ?? [],
            replies: 1,
            mark: .start(watch)
        )
    }

    /// Ends the watch of that id; false if there is none.
    func end(_ id: RequestID?) -> Bool { self.end(where: { $0.id == id }) }

    /// Ends the implicit watch.
    func endImplicit() { _ = self.end(where: \.isImplicit) }

    /// Queues the end of a watch: it still gets what belongs before the lines queued so far.
    private func end(where isMeant: (Watch) -> Bool) -> Bool {
        guard let watch = self.watches.first(where: { isMeant($0) && !$0.isEnding }) else {
            return false
        }
        watch.isEnding = true
        self.outbox.append([], replies: 0, mark: .end(watch))
        return true
    }

    // MARK: - Writing

    /// Removes a watch once the lines before its end have been written.
    func remove(_ watch: Watch) {
        watch.cancelTimer()
        self.watches.removeAll { $0 === watch }
    }

    /// Brings all up to the newest change, as far as there is time; false if the socket did not take it all.
    func write() -> Bool {
        for watch in self.watches where watch.isRunning {
            guard self.writer.write(watch) else { return false }
        }
        return true
    }

    /// Whether a watch is reading changes older than the ring, which go before queued lines.
    var isReadingPast: Bool { self.watches.contains(where: \.past.isUnderWay) }

    /// Whether a watch may have something to be sent.
    var isRunning: Bool { self.watches.contains(where: \.isRunning) }

    /// Whether there are changes that the socket would take.
    var hasChangesToWrite: Bool {
        let head = self.server.ring.head
        return self.outbox.isFree && self.watches.contains { $0.isRunning && $0.cursor < head }
    }

    /// Whether a watch is more than a quarter of the ring behind.
    var isFarBehind: Bool {
        self.watches.contains { watch in
            watch.isRunning
                && (self.server.ring.head - watch.cursor) * 4
                    > UInt64(self.server.limits.ringChanges)
        }
    }

    var count: Int { self.watches.count }

    /// How many changes the watch that is farthest behind has not been sent.
    func lag(at head: UInt64) -> UInt64 { self.watches.map { head - $0.cursor }.max() ?? 0 }

    /// How many lines have reported lost changes.
    var resyncs: UInt64 { self.writer.resyncs }

    // MARK: - The end

    /// Ends the watches that are reading changes older than the ring.
    ///
    /// The client may resume from its last line when it comes back.
    func leavePast() {
        for watch in self.watches where watch.past.isUnderWay { watch.cancelTimer() }
        self.watches.removeAll { $0.past.isUnderWay }
    }

    /// Forgets them all.
    func drop() {
        for watch in self.watches { watch.cancelTimer() }
        self.watches = []
    }

    /// Adapts the watches to a new declaration of the states.
    func redeclared() {
        for watch in self.watches { watch.redeclared(by: self.server.machine.schema) }
    }

    // MARK: - From one process to the next

    /// A watch's position in the record that ``handOver(to:)`` makes.
    func place(of watch: Watch) -> Int {
        self.watches.firstIndex { $0 === watch } ?? self.watches.endIndex
    }

    /// Records the watches for the next process.
    func handOver(to record: inout HandOverRecord.Connection) {
        record.watches = self.watches.map { watch in
            watch.record(knowing: self.server.declarations.hash(knownTo: watch))
        }
        record.resyncs = self.resyncs
        for watch in self.watches { watch.cancelTimer() }
    }

    /// Resumes the last process's watches at their cursors; one that makes no sense is nil.
    func resume(with record: HandOverRecord.Connection) -> [Watch?] {
        let watches = record.watches.map { watch in
            Watch(
                watch,
                of: self.server.machine.schema,
                head: self.server.ring.head,
                declarations: self.server.declarations.count(knownBefore: watch.declaration)
            )
        }
        self.watches = watches.compactMap(\.self)
        return watches
    }

    /// Starts a watch of the last process over, since that process's epoch is gone.
    func beginAnew(_ watch: HandOverRecord.Watch) {
        guard !watch.isEnding else { return }
        let (call, id) = watch.call(self.server.machine.schema) ?? (WatchCall(), nil)
        self.begin(
            Watch(
                call,
                id: id,
                from: .resync(.restarted, missed: nil),
                head: self.server.ring.head,
                declarations: self.server.declarations.count(knownBefore: watch.declaration),
                request: watch.request.map { Array($0) } ?? [],
                isImplicit: watch.request == nil
            )
        )
    }

    /// Continues the last process's count.
    func resume(afterResyncs resyncs: UInt64) { self.writer.resume(after: resyncs) }
}
