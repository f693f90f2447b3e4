import Glibc
import NIOCore
import StateMachineCore
import StateMachineProtocol

/// What goes out, and in which order.
extension Connection {
    /// Queues a line that answers a request; changes up to `seq` go before it.
    func reply(_ line: [UInt8], after seq: UInt64 = 0) { self.append(line, replies: 1, after: seq) }

    /// The same with the line that the server has put together.
    func replyWithLine(after seq: UInt64) {
        guard !self.isOutputClosed else { return }
        if self.outbox.isEmpty {
            self.outbox.append(Segment(bytes: exchange(&self.server.replies, with: [])))
        } else if self.outbox[self.outbox.count - 1].mark != nil {
            self.outbox.append(Segment())
        }
        let last = self.outbox.count - 1
        self.server.line.withBytes {
            self.outbox[last].bytes.append(contentsOf: $0)
            self.replyBytes += $0.count
        }
        self.outbox[last].replies += 1
        self.outbox[last].seq = max(self.outbox[last].seq, seq)
        self.repliesInFlight += 1
    }

    /// Queues a line; `replies` is 1 if it counts as a reply in flight.
    func append(_ line: [UInt8], replies: Int, after seq: UInt64 = 0) {
        guard !self.isOutputClosed else { return }
        self.repliesInFlight += replies
        self.replyBytes += line.count
        if let last = self.outbox.indices.last, self.outbox[last].mark == nil {
            self.outbox[last].bytes += line
            self.outbox[last].replies += replies
            self.outbox[last].seq = max(self.outbox[last].seq, seq)
        } else {
            self.outbox.append(Segment(bytes: line, replies: replies, seq: seq))
        }
    }

    /// Queues the beginning of a watch.
    ///
    /// Its first line shows the state as it is now; changes follow when the lines before are written.
    func begin(_ watch: Watch) {
        guard !self.isOutputClosed else { return }
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

    /// Queues an answer to `history`, which is written straight from the ring when its turn has come.
    func begin(_ run: HistoryRun) {
        guard !self.isOutputClosed else { return }
        self.replyBytes += run.request.count
        self.append([], replies: 1)
        self.mark(.history(run))
    }

    private func mark(_ mark: Segment.Mark) {
        if let last = self.outbox.indices.last { self.outbox[last].mark = mark }
    }

    /// Writes what there is, and goes on reading or closes if that is what it waited for.
    func flush(isUrgent: Bool = false) {
        self.pump(isUrgent: isUrgent)
        if self.isToReadAgain || self.hasUnserved {
            self.serve()
        } else {
            self.finish()
        }
    }

    /// Writes all that can be written now.
    ///
    /// Watches first, replies after them: so a reply that carries a seq comes after every change up
    /// to it, as the watches are brought up to the head of the ring, and the ring up to the reply.
    ///
    /// What is not urgent ends when there is no time for more, and goes on in the connection's next turn.
    func pump(isUrgent: Bool = false) {
        self.isUrgent = isUrgent
        let wasCutShort = exchange(&self.isCutShort, with: false)
        self.writeOut()
        if self.isCutShort { self.server.turns.want(self) }
        self.isCutShort = self.isCutShort || wasCutShort
        self.isUrgent = false
    }

    /// Whether to leave the rest for the connection's next turn.
    func mustStop() -> Bool {
        guard !self.isUrgent, self.server.turns.isOver else { return false }
        self.isCutShort = true
        return true
    }

    private func writeOut() {
        while self.channel.isActive, !self.isBlocked {
            for watch in self.watches where watch.isRunning {
                guard self.writeChanges(of: watch) else { return }
            }
            // A reply comes after every change up to it.
            guard !self.isCutShort, !self.watches.contains(where: \.past.isUnderWay) else {
                return
            }
            if let run = self.history {
                guard self.writeHistory(run) else { return }
                self.history = nil
                self.replyBytes -= run.request.count
                guard self.write(self.server.summary(of: run)[...]) else { return }
            }
            let limit = self.server.limits.replyBytesPerConnection
            if self.hasEndedWaits, !self.isOutputClosed, self.replyBytes < limit {
                self.answerWaits(until: limit)
                continue
            }
            guard let next = self.outbox.first else {
                if !self.isOutputClosed, self.judgeWaits() { continue }
                self.writeQuestions()
                return
            }
            let head = self.server.ring.head
            if next.seq > head {
                self.server.catchUp()
                // If they are coming in right now, whoever brings them has this written afterwards.
                guard self.server.ring.head > head else { return }
                continue
            }
            var segment = self.outbox.removeFirst()
            switch segment.mark {
            case .start(let watch): watch.start()
            case .end(let watch): self.remove(watch)
            case .history(let run): self.history = run
            case nil: break
            }
            self.replyBytes -= segment.bytes.count
            guard self.write(segment.bytes[...], replies: segment.replies) else { return }
            self.server.keepRoom(&segment.bytes)
            guard self.outbox.isEmpty || !self.mustStop() else { return }
        }
    }

    private func remove(_ watch: Watch) {
        watch.timer?.task.cancel()
        self.watches.removeAll { $0 === watch }
    }

    /// Brings a watch up to the head of the ring, as far as its pace lets it; false if the socket did
    /// not take it all.
    private func writeChanges(of watch: Watch) -> Bool {
        let head = self.server.ring.head
        let now = watch.pace.isTimed ? NIODeadline.now() : .distantPast
        defer {
            if watch.pace.isTimed, !self.isOutputClosed, !self.isBlocked {
                self.setTimer(for: watch)
            }
        }
        if watch.cursor < head, !watch.isReplaying, watch.pace.wait(at: now) != nil {
            return self.writeBeat(of: watch, ifDueAt: now)
        }
        let (reported, isReplaying) = (watch.reported, watch.isReplaying)
        let isDone = self.writeNew(of: watch, upTo: head)
        if watch.reported != reported || watch.isReplaying != isReplaying {
            // What a watch begins with, replayed or not, makes its first change wait no longer.
            watch.pace.wrote(at: now, holdsBackNext: !isReplaying)
            return isDone
        }
        return isDone && self.writeBeat(of: watch, ifDueAt: now)
    }

    /// Writes what a watch has not been sent; false if the socket did not take it all.
    private func writeNew(of watch: Watch, upTo head: UInt64) -> Bool {
        while watch.cursor < head {
            guard self.server.ring.reaches(back: watch.cursor) else {
                guard watch.isReplaying, let past = self.server.past else {
                    return self.resync(watch, .lagged, at: head)
                }
                switch self.writePast(past, of: watch) {
                case .wrote: continue
                case .waiting: return true
                case .stopped: return false
                case .lost: return self.resync(watch, .evicted, at: head)
                }
            }
            guard watch.isPlain ? self.writeAll(of: watch) : self.writeSome(of: watch) else {
                return false
            }
            guard watch.cursor == head || !self.mustStop() else { return true }
        }
        if watch.isReplaying {
            watch.becomeLive(at: head)
            return self.write(ServerLine.live(id: watch.id, self.server.report)[...])
        }
        return true
    }

    /// Writes a beat if the watch has been silent for long enough; what its pace holds back stays
    /// to be sent, and is not lost to a reader that resumes from the beat.
    private func writeBeat(of watch: Watch, ifDueAt now: NIODeadline) -> Bool {
        guard watch.pace.untilBeat(at: now) == .zero else { return true }
        watch.pace.wrote(at: now, holdsBackNext: false)
        watch.reported = watch.cursor
        let report = self.server.report
        return self.write(ServerLine.beat(id: watch.id, report, resumingAt: watch.cursor)[...])
    }

    private func resync(
        _ watch: Watch,
        _ reason: ServerLine.Resync,
        at head: UInt64
    ) -> Bool {
        let missed = head - watch.reported
        watch.becomeLive(at: head)
        self.counts.resyncs += 1
        self.server.counters.resyncs.add()
        return self.write(
            ServerLine.state(
                id: watch.id,
                self.server.report,
                resync: reason,
                missed: missed
            )[...]
        )
    }

    /// Comes back when the next line may go, or when a beat is due.
    ///
    /// One timer a watch. A line that is written meanwhile does not move it: when it rings, the rest of
    /// the time is waited for. While the socket is full there is none, since nothing can be written.
    private func setTimer(for watch: Watch) {
        guard watch.pace.isTimed else { return }
        let now = NIODeadline.now()
        let isHeld = watch.cursor < self.server.ring.head
        let waits = [isHeld ? watch.pace.wait(at: now) : nil, watch.pace.untilBeat(at: now)]
        guard let wait = waits.compactMap({ $0 }).min() else { return }
        if let timer = watch.timer, timer.deadline <= now + wait { return }
        watch.timer?.task.cancel()
        let task = self.channel.eventLoop.assumeIsolated().scheduleTask(deadline: now + wait) {
            [weak self, weak watch] in
            watch?.timer = nil
            if let self { self.server.turns.want(self) }
        }
        watch.timer = (now + wait, task)
    }

    // MARK: - To the socket

    /// Writes bytes; what the socket does not take is left to the channel.
    func write(_ bytes: ArraySlice<UInt8>, replies: Int = 0) -> Bool {
        guard !bytes.isEmpty else {
            self.repliesInFlight -= replies
            return true
        }
        switch self.writer.write(bytes) {
        case .written(let count):
            self.count(bytes: count)
            guard count < bytes.count else {
                self.repliesInFlight -= replies
                return true
            }
            self.block(bytes.dropFirst(count), replies: replies)
            return false
        case .gone:
            self.dropOutput()
            return false
        }
    }

    func count(bytes: Int) {
        self.counts.bytes += UInt64(bytes)
        self.server.counters.bytes.add(bytes)
        self.server.counters.writes.add()
    }

    /// Forgets all that is for the client, who reads no more.
    ///
    /// The connection is not closed here: what the client has sent is still to be dealt with, and its
    /// end is still to be seen.
    func dropOutput() {
        self.isOutputClosed = true
        self.outbox = []
        self.repliesInFlight = 0
        self.replyBytes = 0
        for wait in self.waits { wait.end() }
        self.hasEndedWaits = false
        for watch in self.watches { watch.timer?.task.cancel() }
        self.watches = []
        self.waits = []
        self.history = nil
        self.endVoters()
    }

    /// Whether it has a watch that has a quarter of the ring before it.
    private var isFarBehind: Bool {
        self.watches.contains { watch in
            watch.isRunning
                && (self.server.ring.head - watch.cursor) * 4
                    > UInt64(self.server.limits.ringChanges)
        }
    }

    /// Leaves to the channel what the socket did not take; until that is written nothing else is.
    func block(_ rest: ArraySlice<UInt8>, replies: Int) {
        self.isBlocked = true
        self.replyBytes += rest.count
        let buffer = self.channel.allocator.buffer(bytes: rest)
        self.unsent = (buffer, replies)
        self.channel.writeAndFlush(buffer).assumeIsolated().whenComplete { _ in
            // A failure means that the channel is closing, which it says itself.
            self.channel.eventLoop.assumeIsolated().execute {
                guard self.isBlocked else { return }
                self.isBlocked = false
                self.unsent = nil
                self.repliesInFlight -= replies
                self.replyBytes -= rest.count
                self.count(bytes: rest.count)
                // Who is about to lose something does not wait in line.
                if self.isFarBehind, self.user.urgently({ self.flush(isUrgent: true) }) { return }
                self.server.turns.want(self)
            }
        }
    }
}
