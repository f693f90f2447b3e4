import NIOCore
import StateMachineProtocol

/// Brings one watch after the other up to the newest change, as far as its pace, its client and the time let it.
///
/// Belongs to the event loop.
struct WatchWriter {
    private let changes: ChangeWriter
    private let server: StateServer
    private let outbox: Outbox
    private let turn: ConnectionTurn
    /// Lines that told of lost changes.
    private(set) var resyncs: UInt64 = 0

    init(_ changes: ChangeWriter) {
        self.changes = changes
        self.server = changes.server
        self.outbox = changes.outbox
        self.turn = changes.turn
    }

    /// Goes on with the last process's count.
    mutating func resume(after resyncs: UInt64) { self.resyncs = resyncs }

    /// Brings a watch up to the head of the ring, as far as its pace lets it; false if the socket did
    /// not take it all.
    mutating func write(_ watch: Watch) -> Bool {
        guard watch.pace.isTimed else { return self.writeNew(of: watch) }
        let isDone = self.writeTimed(watch)
        if self.outbox.isFree { self.setTimer(for: watch) }
        return isDone
    }

    private mutating func writeTimed(_ watch: Watch) -> Bool {
        let now = NIODeadline.now()
        if watch.cursor < self.server.ring.head, !watch.isReplaying, watch.pace.wait(at: now) != nil
        {
            return self.writeBeat(of: watch, ifDueAt: now)
        }
        let (reported, isReplaying) = (watch.reported, watch.isReplaying)
        let isDone = self.writeNew(of: watch)
        if watch.reported != reported || watch.isReplaying != isReplaying {
            // What a watch begins with, replayed or not, makes its first change wait no longer.
            watch.pace.wrote(at: now, holdsBackNext: !isReplaying)
            return isDone
        }
        return isDone && self.writeBeat(of: watch, ifDueAt: now)
    }

    /// Writes what a watch has not been sent; false if the socket did not take it all.
    private mutating func writeNew(of watch: Watch) -> Bool {
        while let declared = self.server.declarations.next(after: watch.declarations) {
            guard self.writeChanges(of: watch, through: declared.seq) else { return false }
            guard watch.cursor >= declared.seq else { return true }
            guard self.write(declared, to: watch) else { return false }
        }
        let head = self.server.ring.head
        guard self.writeChanges(of: watch, through: head) else { return false }
        guard watch.isReplaying, watch.cursor == head else { return true }
        watch.becomeLive(at: head)
        return self.outbox.write(
            ServerLine.live(
                id: watch.id,
                self.server.report,
                isSelected: watch.selects(self.server.snapshot.state)
            )[...]
        )
    }

    /// Tells a watch what declares the states after its cursor.
    private func write(_ declared: Declared, to watch: Watch) -> Bool {
        watch.declaredWent()
        return self.outbox.write(
            ServerLine.declared(
                id: watch.id,
                seq: declared.seq,
                hash: declared.hash,
                version: declared.version,
                cursor: Cursor(epoch: self.server.epoch, seq: watch.cursor)
            )[...]
        )
    }

    /// Writes the changes that a watch has not been sent, as far as there is time; false if the socket did not
    /// take them all.
    private mutating func writeChanges(of watch: Watch, through end: UInt64) -> Bool {
        while watch.cursor < end {
            let source = self.server.source(after: watch.cursor)
            if let resync = Resync.due(for: watch, at: source) {
                return self.write(resync, to: watch)
            }
            if case .history(let past) = source {
                switch self.writePast(past, of: watch, through: end) {
                case .wrote: continue
                case .waiting: return true
                case .stopped: return false
                case .lost: return self.write(.evicted, to: watch)
                }
            }
            guard self.writeRing(of: watch, through: end) else { return false }
            guard watch.cursor >= end || !self.turn.mustStop() else { return true }
        }
        return true
    }

    private mutating func write(_ resync: Resync, to watch: Watch) -> Bool {
        self.resyncs += 1
        return self.outbox.write(resync.skip(watch, at: self.server)[...])
    }

    // MARK: - Changes

    /// Writes some of what a watch has not been sent and the ring has; false if the socket did not take it.
    private func writeRing(of watch: Watch, through end: UInt64) -> Bool {
        switch watch.mode {
        case .all where watch.isPlain:
            // Its lines are the ring's own.
            let sent = self.changes.writeAll(after: watch.cursor, through: end)
            return watch.sent(sent, upTo: end, last: end)
        case .all:
            let (examined, lines) = self.changes.gather(
                after: watch.cursor,
                through: end,
                only: watch.only,
                head: watch.head,
                isReplayed: watch.isReplaying
            )
            guard let last = lines.last else {
                watch.passed(to: examined)
                return true
            }
            return watch.sent(self.changes.write(lines), upTo: examined, last: last.seq)
        case .latest:
            return self.writeNewest(of: watch, through: end)
        }
    }

    /// Writes the newest change that the watch wants, with the number of those that it stands for, when all
    /// have been looked at; until then it looks at some more.
    private func writeNewest(of watch: Watch, through last: UInt64) -> Bool {
        var newest = watch.newest.examined(after: watch.cursor, through: last)
        let end = min(
            last,
            self.server.endOfPiece(after: newest.seq, patterns: watch.only?.count ?? 0)
        )
        while newest.seq < end {
            newest.seq += 1
            guard self.server.isWanted(newest.seq, watch.only) else { continue }
            newest.wanted = newest.seq
            newest.count += 1
        }
        watch.newest = newest
        guard end == last else { return true }
        guard let wanted = newest.wanted else {
            watch.passed(to: end)
            return true
        }
        let sent = self.changes.write(
            wanted,
            head: watch.head,
            skipped: newest.count - 1,
            isReplayed: watch.isReplaying
        )
        return watch.sent(sent, upTo: end, last: wanted)
    }

    /// Where a watch stands after a piece of its past.
    private enum PastProgress {
        /// As far as it has got, and may go on.
        case wrote
        /// The next piece is being read.
        case waiting
        /// The socket is full, or the client gone.
        case stopped
        /// The rest is not to be had any more.
        case lost
    }

    /// Writes a piece of what a watch has not been sent and the ring does not have.
    private func writePast(
        _ past: HistoryReader,
        of watch: Watch,
        through end: UInt64
    ) -> PastProgress {
        switch watch.past.next() {
        case .wait: return .waiting
        case .ask:
            let selection = HistoryLines.Selection(
                head: Array(watch.head.bytes),
                only: watch.only,
                mode: watch.mode,
                // What is committed may be ahead of what has been announced.
                end: end
            )
            self.changes.ask(past, after: watch.cursor, selection) { finding, canWrite in
                watch.past.arrived(finding, canWrite: canWrite)
            }
            return .waiting
        case .take(let finding):
            guard let piece = finding.following(watch.cursor) else { return .lost }
            guard let last = piece.lines.last else {
                watch.passed(to: piece.examined)
                return .wrote
            }
            let sent = self.changes.write(piece)
            return watch.sent(sent, upTo: piece.examined, last: last.seq) ? .wrote : .stopped
        }
    }

    // MARK: - Time

    /// Writes a beat if the watch has been silent for long enough; what its pace holds back stays
    /// to be sent, and is not lost to a reader that resumes from the beat.
    private func writeBeat(of watch: Watch, ifDueAt now: NIODeadline) -> Bool {
        guard watch.pace.untilBeat(at: now) == .zero else { return true }
        watch.pace.wrote(at: now, holdsBackNext: false)
        watch.beatWent()
        let report = self.server.report
        return self.outbox.write(
            ServerLine.beat(
                id: watch.id,
                report,
                resumingAt: watch.cursor,
                isSelected: watch.selects(self.server.snapshot.state)
            )[...]
        )
    }

    /// Comes back when the next line may go, or when a beat is due.
    ///
    /// One timer a watch. A line that is written meanwhile does not move it: when it rings, the rest of
    /// the time is waited for. While the socket is full there is none, since nothing can be written.
    private func setTimer(for watch: Watch) {
        let now = NIODeadline.now()
        let isHeld = watch.cursor < self.server.ring.head
        let waits = [isHeld ? watch.pace.wait(at: now) : nil, watch.pace.untilBeat(at: now)]
        guard let wait = waits.compactMap({ $0 }).min() else { return }
        watch.setTimer(at: now + wait, on: self.server.loop, for: self.turn)
    }
}

/// Decides when a paced watch may be sent a line and when it is due a beat; sets no timer.
struct WatchPace {
    private let interval: TimeAmount?
    private let beat: TimeAmount?
    private var lastLine: NIODeadline?
    private var quietSince: NIODeadline

    /// A pace of at least `everyMs` between two lines (0 for none) and at most `beatMs` of silence (nil
    /// for any).
    init(everyMs: UInt64, beatMs: UInt64?, now: NIODeadline) {
        self.interval = everyMs == 0 ? nil : .bounded(milliseconds: everyMs)
        self.beat = beatMs.map { .bounded(milliseconds: $0) }
        self.quietSince = now
    }

    /// Whether time matters to it at all.
    var isTimed: Bool { self.interval != nil || self.beat != nil }

    /// How long the next line has to wait; nil if it may go now.
    func wait(at now: NIODeadline) -> TimeAmount? {
        guard let interval, let lastLine, lastLine + interval > now else { return nil }
        return lastLine + interval - now
    }

    /// How long until a beat is due if nothing is sent; zero if it is due; nil for never.
    func untilBeat(at now: NIODeadline) -> TimeAmount? {
        guard let beat else { return nil }
        let due = self.quietSince + beat
        return due > now ? due - now : .zero
    }

    /// Notes that a line was sent; a beat, for one, does not make the next line wait.
    mutating func wrote(at now: NIODeadline, holdsBackNext: Bool) {
        self.quietSince = now
        if holdsBackNext { self.lastLine = now }
    }
}

extension TimeAmount {
    /// At most a hundred years, so that the nanoseconds fit.
    static func bounded(milliseconds: UInt64) -> TimeAmount {
        .milliseconds(Int64(min(milliseconds, 3_155_760_000_000)))
    }
}

/// A watch has missed changes: it is told how many, and goes on at the newest.
struct Resync {
    let reason: ServerLine.Resync

    /// What was to come next is not kept any more.
    static let evicted = Resync(reason: .evicted)
    /// The client has read too slowly.
    static let lagged = Resync(reason: .lagged)

    private init(reason: ServerLine.Resync) { self.reason = reason }

    /// Decides whether a watch has missed the changes that it is to be sent next.
    ///
    /// - Parameters:
    ///   - watch: the watch.
    ///   - source: where these changes are.
    /// - Returns: what the client is told; nil if it misses nothing.
    static func due(for watch: Watch, at source: ChangeSource) -> Resync? {
        switch source {
        case .ring: nil
        // The history is for replays; a slow reader of what happens now is told about the loss.
        case .history: watch.isReplaying ? nil : .lagged
        case .none: .lagged
        }
    }

    /// Has the watch go on at the newest change.
    ///
    /// - Returns: the line that says so.
    func skip(_ watch: Watch, at server: StateServer) -> [UInt8] {
        let head = server.ring.head
        let missed = head - watch.reported
        watch.becomeLive(at: head)
        server.counters.resyncs.add()
        return ServerLine.state(
            id: watch.id,
            server.report,
            resync: self.reason,
            missed: missed,
            isSelected: watch.selects(server.snapshot.state)
        )
    }
}
