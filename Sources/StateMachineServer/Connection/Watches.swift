import NIOCore
import StateMachineCore
import StateMachineProtocol

/// A connection's watches: begins and ends them, and brings one after the other up to the newest change, as far as its
/// pace, its client and the time let it.
///
/// Belongs to the event loop.
final class Watches {
    let output: Output
    private let standing: StandingRequests
    var server: StateServer { self.output.server }
    private var watches: [Watch] { self.standing.watches }

    /// Lines that told of lost changes.
    var resyncs: UInt64 = 0

    init(_ output: Output, _ standing: StandingRequests) {
        self.output = output
        self.standing = standing
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
        try self.standing.checkRoom("watches", watches.count, of: limit)
        try self.standing.checkRoom(for: line)
        self.start(call, id: id, line)
    }

    /// Starts a watch; `line` is the request, and empty for the implicit watch.
    ///
    /// Its first line shows the state as it is now, unless it replays; changes follow when the lines before are written.
    /// `row`: what the last process left of it, whose epoch is gone, and its cursor with that. `wasAway`: whether its client was
    /// told before that it is not known where the machine is.
    func start(
        _ call: WatchCall,
        id: RequestID?,
        _ line: [UInt8],
        over row: WatchRow? = nil,
        wasAway: Bool = false
    ) {
        guard !self.output.isClosed else { return }
        let (past, head) = (self.server.past, self.server.report.seq)
        let start = row == nil ? past.start(call.since, else: head) : (head, .restarted, nil)
        let watch = Watch(
            call,
            id: id,
            after: start.after,
            isToReplay: call.since != nil && start.resync == nil,
            declarations: past.declarations.count(knownBefore: row?.declaration),
            request: line,
            isToBeTold: wasAway || row != nil || self.server.sharing?.trouble != nil
        )
        self.standing.watches.append(watch)
        let first =
            watch.isToReplay
            ? []
            : ServerLine.state(
                id: id,
                self.server.report,
                resync: start.resync,
                missed: start.missed,
                isSelected: self.server.isShown(watch.selection)
            )
        self.output.append(first, replies: 1, mark: .start(watch))
    }

    /// Ends the watch of that id; false if there is none.
    func end(_ id: RequestID?) -> Bool { self.end(where: { $0.id == id }) }

    /// Ends the implicit watch.
    func endImplicit() { _ = self.end(where: \.request.isEmpty) }

    /// Queues the end of a watch: it still gets what belongs before the lines queued so far.
    private func end(where isMeant: (Watch) -> Bool) -> Bool {
        guard let watch = self.watches.first(where: { isMeant($0) && !$0.isEnding }) else {
            return false
        }
        watch.isEnding = true
        self.output.append([], replies: 0, mark: .end(watch))
        return true
    }

    // MARK: - Writing

    /// Removes a watch once the lines before its end have been written.
    func remove(_ watch: Watch) {
        watch.end()
        self.standing.watches.removeAll { $0 === watch }
    }

    /// Brings all up to the newest change, as far as there is time and the socket takes it.
    func write() {
        let sharing = self.server.sharing
        for watch in self.watches where watch.isRunning && self.output.isFree {
            if let sharing, sharing.trouble != nil { self.tell(watch, of: sharing) }
            // One that rests may be due a beat.
            if !watch.cursor.isResting || watch.pace != nil { self.write(watch) }
            guard let sharing, sharing.trouble == nil, self.output.isFree else { continue }
            // That all is well again goes behind what was missed, unless that waits for its pace.
            if watch.pace != nil || !watch.cursor.isBehind(self.server.past.ring.head) {
                self.tell(watch, of: sharing)
            }
        }
    }

    /// Whether a watch is reading changes older than the ring, which go before queued lines.
    var isReadingPast: Bool { self.watches.contains(where: \.cursor.isReading) }

    /// Whether a watch may have something to be sent.
    var areBehind: Bool {
        let past = self.server.past
        return self.watches.contains { watch in
            watch.isRunning
                && (watch.isReplaying || watch.cursor.isBehind(past.ring.head)
                    || !watch.isTold(of: self.server.sharing)
                    || watch.cursor.declarations < past.declarations.count)
        }
    }

    /// How many look at each change, since no index finds what they want.
    var unindexed: Int {
        self.watches.count { watch in
            watch.selection.only.map { ReaderIndex.places($0.readerBuckets) == nil } ?? false
        }
    }

    /// Whether some wait to be found.
    var haveResting: Bool { self.watches.contains(where: \.cursor.isResting) }

    /// Whether each waits to be found.
    var areAtRest: Bool { self.watches.allSatisfy(\.cursor.isResting) }

    /// Has a watch that has come to the newest change rest until a state comes that it may want.
    private func rest(_ watch: Watch) {
        guard !watch.isReplaying, let only = watch.selection.only else { return }
        watch.cursor.rest(at: only.readerBuckets, of: self.output)
    }

    /// Whether there are changes that the socket would take.
    var hasChangesToWrite: Bool {
        let head = self.server.past.ring.head
        return self.output.isFree
            && self.watches.contains { $0.isRunning && $0.cursor.isBehind(head) }
    }

    /// Whether a watch is more than a quarter of the ring behind.
    var isFarBehind: Bool {
        self.watches.contains { watch in
            watch.isRunning && !watch.cursor.isResting
                && (self.server.past.ring.head - watch.cursor.seq) * 4
                    > UInt64(self.server.limits.ringChanges)
        }
    }

    var count: Int { self.watches.count }

    /// How many changes the watch that is farthest behind has not been sent.
    func lag(at head: UInt64) -> UInt64 { self.watches.map { head - $0.cursor.seq }.max() ?? 0 }

    /// Brings a watch up to the head of the ring, as far as its pace lets it.
    private func write(_ watch: Watch) {
        guard let pace = watch.pace else { return self.writeNew(of: watch) }
        self.write(watch, at: pace)
        if self.output.isFree { self.setTimer(for: watch, at: pace) }
    }

    private func write(_ watch: Watch, at pace: WatchPace) {
        let now = NIODeadline.now()
        let isBehind = watch.cursor.seq < self.server.past.ring.head
        if isBehind, !watch.isReplaying, pace.wait(at: now) != nil {
            return self.writeBeat(of: watch, pace, ifDueAt: now)
        }
        let (reported, isReplaying) = (watch.reported, watch.isReplaying)
        self.writeNew(of: watch)
        if watch.reported != reported || watch.isReplaying != isReplaying {
            // What a watch begins with, replayed or not, makes its first change wait no longer.
            pace.wrote(at: now, holdsBackNext: !isReplaying)
        } else if self.output.isFree, !self.output.isCutShort {
            // What there was no time for goes before it.
            self.writeBeat(of: watch, pace, ifDueAt: now)
        }
    }

    /// Writes what a watch has not been sent, as far as there is time and the socket takes it.
    private func writeNew(of watch: Watch) {
        let past = self.server.past
        while self.output.isFree {
            let step = past.next(watch.cursor, for: self.output) { query in
                watch.selection.narrow(&query)
                let (selection, epoch) = (watch.selection, past.epoch)
                return { RecordedLines($0, selection, in: epoch) }
            }
            switch step {
            case .ring(let changes):
                self.write(changes, to: watch)
                let isDone = watch.cursor.seq >= changes.upperBound
                if !isDone, self.output.isFree, self.output.mustStop() { return }
            case .read(let piece): watch.passed(self.output.write(piece))
            case .declared(let declared): self.write(declared, to: watch)
            case .wait: return
            case .lost, .unreadable: self.skip(watch)
            case .end:
                if watch.isReplaying { self.makeLive(watch) }
                return self.rest(watch)
            }
        }
    }

    /// Tells a watch that it has come to the newest change.
    private func makeLive(_ watch: Watch) {
        watch.becomeLive(at: self.server.past.ring.head)
        self.output.write(
            ServerLine.live(
                id: watch.id,
                self.server.report,
                isSelected: self.server.isShown(watch.selection)
            )[...]
        )
    }

    /// Tells a watch whether what is shown is what all hosts have, unless it knows; it may be behind that itself.
    private func tell(_ watch: Watch, of sharing: Sharing) {
        guard !watch.isTold(of: sharing), !watch.isReplaying else { return }
        watch.sharingWent(sharing.trouble)
        self.output.write(
            ServerLine.shared(
                id: watch.id,
                sharing.trouble,
                self.server.report,
                resumingAt: watch.cursor.seq
            )[...]
        )
    }

    /// Tells a watch what declares the states after its cursor.
    private func write(_ declared: Declared, to watch: Watch) {
        watch.declaredWent()
        self.output.write(
            ServerLine.declared(
                id: watch.id,
                seq: declared.seq,
                hash: declared.declaration.hash,
                version: declared.declaration.version,
                cursor: Cursor(epoch: self.server.epoch, seq: watch.cursor.seq)
            )[...]
        )
    }

    // MARK: - Changes

    /// Writes some of the ring's changes.
    private func write(_ changes: ClosedRange<UInt64>, to watch: Watch) {
        switch watch.selection.mode {
        // Its lines are the ring's own.
        case .all where watch.isPlain: watch.passed(self.output.writeAll(changes))
        case .all:
            let (selection, isReplayed) = (watch.selection, watch.isReplaying)
            watch.passed(self.output.write(changes, for: selection, isReplayed: isReplayed))
        case .latest:
            if let newest = watch.newest { self.write(newest, of: changes, to: watch) }
        }
    }

    /// Writes the newest change that the watch wants, with the number of those that it stands for, when all
    /// have been looked at.
    private func write(
        _ newest: Watch.Newest,
        of changes: ClosedRange<UInt64>,
        to watch: Watch
    ) {
        let (selection, end) = (watch.selection, changes.upperBound)
        newest.examine(after: watch.cursor.seq, through: end)
        if newest.seq < end {
            self.output.look(at: newest.seq + 1...end, comparing: selection.patterns) { seq, row in
                newest.seq = seq
                if selection.wants(row, shownBy: self.server.states) { newest.found(seq) }
                return true
            }
        }
        guard newest.seq == end else { return }
        guard let wanted = newest.wanted else { return watch.cursor.passed(to: end) }
        watch.passed(
            self.output.write(
                wanted,
                skipped: newest.count - 1,
                upTo: end,
                for: selection,
                isReplayed: watch.isReplaying
            )
        )
    }

    // MARK: - Time

    /// Writes a beat if the watch has been silent for long enough; what its pace holds back stays
    /// to be sent, and is not lost to a reader that resumes from the beat.
    private func writeBeat(of watch: Watch, _ pace: WatchPace, ifDueAt now: NIODeadline) {
        guard pace.untilBeat(at: now) == .zero else { return }
        pace.wrote(at: now, holdsBackNext: false)
        watch.beatWent()
        let report = self.server.report
        self.output.write(
            ServerLine.beat(
                id: watch.id,
                report,
                resumingAt: watch.cursor.seq,
                isSelected: self.server.isShown(watch.selection)
            )[...]
        )
    }

    /// Comes back when the next line may go, or when a beat is due.
    ///
    /// One timer a watch. A line that is written meanwhile does not move it: when it rings, the rest of
    /// the time is waited for. While the socket is full there is none, since nothing can be written.
    private func setTimer(for watch: Watch, at pace: WatchPace) {
        let now = NIODeadline.now()
        let isHeld = watch.cursor.seq < self.server.past.ring.head
        let waits = [isHeld ? pace.wait(at: now) : nil, pace.untilBeat(at: now)]
        guard let wait = waits.compactMap({ $0 }).min() else { return }
        pace.setTimer(at: now + wait, on: self.server.loop, for: self.output)
    }

    // MARK: - The end

    /// Ends the watches that are reading changes older than the ring.
    ///
    /// The client may resume from its last line when it comes back.
    func stopReadingPast() {
        for watch in self.watches where watch.cursor.isReading { watch.end() }
        self.standing.watches.removeAll { $0.cursor.isReading }
    }

    /// Forgets them all.
    func drop() {
        for watch in self.watches { watch.end() }
        self.standing.watches = []
    }

    /// Adapts the watches to a new declaration of the states.
    func redeclared() {
        for watch in self.watches { watch.selection.redeclared(by: self.server.schema) }
    }

    // MARK: - From one process to the next

    /// Continues the last process's count.
    func resume(afterResyncs resyncs: UInt64) { self.resyncs = resyncs }

    /// A watch's place in what ``leave()`` records.
    func index(of watch: Watch) -> Int {
        self.watches.firstIndex { $0 === watch } ?? self.watches.endIndex
    }

    /// Leaves the watches to the next process.
    func record() -> [StandingRow] {
        self.watches.map { watch in
            watch.end()
            return .watch(watch.row(knowing: self.server.past.declarations.hash(knownTo: watch)))
        }
    }

    /// Resumes the last process's watches at their cursors; one that makes no sense is nil.
    func resume(_ rows: [WatchRow]) -> [Watch?] {
        let watches = rows.map { row in
            Watch(
                row,
                of: self.server.schema,
                head: self.server.past.ring.head,
                declarations: self.server.past.declarations.count(knownBefore: row.declaration)
            )
        }
        self.standing.watches = watches.compactMap(\.self)
        return watches
    }

    /// Starts a watch of the last process over, since that process's epoch is gone.
    func beginAnew(_ row: WatchRow) {
        guard !row.isEnding else { return }
        var (call, id) = (WatchCall(), RequestID?.none)
        if let request = Request(standing: row.line, of: self.server.schema),
            case .watch(let asked) = request.call
        {
            (call, id) = (asked, request.id)
        }
        self.start(call, id: id, Array(row.line), over: row)
    }
}
