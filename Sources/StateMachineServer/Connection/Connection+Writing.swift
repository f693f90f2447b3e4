import NIOCore
import StateMachineCore
import StateMachineProtocol

/// What goes out, and in which order.
extension Connection {
    /// Queues the beginning of a watch.
    ///
    /// Its first line shows the state as it is now; changes follow when the lines before are written.
    func begin(_ watch: Watch) {
        guard !self.outbox.isClosed else { return }
        self.watches.append(watch)
        self.outbox.append(
            watch.firstLine(self.server.report) ?? [],
            replies: 1,
            mark: .start(watch)
        )
    }

    /// Queues the end of a watch: it is still sent what belongs before the lines queued so far.
    func end(_ watch: Watch) {
        watch.isEnding = true
        self.outbox.append([], replies: 0, mark: .end(watch))
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
    func pump(isUrgent: Bool = false) {
        self.turn.write(isUrgent: isUrgent) { self.writeOut() }
        if self.outbox.isClosed { self.dropOutput() }
    }

    private func writeOut() {
        while self.channel.isActive, self.outbox.isFree {
            for watch in self.watches where watch.isRunning {
                guard self.writeChanges(of: watch) else { return }
            }
            // A reply comes after every change up to it.
            guard !self.turn.isCutShort, !self.watches.contains(where: \.past.isUnderWay) else {
                return
            }
            if let run = self.outbox.run {
                guard self.writeHistory(run), self.outbox.endRun() else { return }
            }
            let limit = self.server.limits.replyBytesPerConnection
            if self.waits.haveEnded, self.outbox.owesLess(than: limit) {
                self.waits.answerEnded(until: limit)
                continue
            }
            guard let seq = self.outbox.nextSeq else {
                if self.waits.goOn() { continue }
                self.voters.writeQuestions()
                return
            }
            let head = self.server.ring.head
            if seq > head {
                self.server.catchUp()
                // If they are coming in right now, whoever brings them has this written afterwards.
                guard self.server.ring.head > head else { return }
                continue
            }
            switch self.outbox.nextMark {
            case .start(let watch): watch.start()
            case .end(let watch): self.remove(watch)
            case .history, nil: break
            }
            guard self.outbox.writeNext() else { return }
            guard !self.outbox.hasSegments || !self.turn.mustStop() else { return }
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
            if watch.pace.isTimed, !self.outbox.isClosed, !self.outbox.isBlocked {
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
            guard watch.cursor == head || !self.turn.mustStop() else { return true }
        }
        if watch.isReplaying {
            watch.becomeLive(at: head)
            return self.outbox.write(ServerLine.live(id: watch.id, self.server.report)[...])
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
        return self.outbox.write(
            ServerLine.beat(id: watch.id, report, resumingAt: watch.cursor)[...]
        )
    }

    private func resync(
        _ watch: Watch,
        _ reason: ServerLine.Resync,
        at head: UInt64
    ) -> Bool {
        let missed = head - watch.reported
        watch.becomeLive(at: head)
        self.resyncs += 1
        self.server.counters.resyncs.add()
        return self.outbox.write(
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
            if let self { self.turn.want() }
        }
        watch.timer = (now + wait, task)
    }

    /// Forgets all that is for the client, who reads no more.
    ///
    /// The connection is not closed here: what the client has sent is still to be dealt with, and its
    /// end is still to be seen.
    func dropOutput() {
        self.outbox.close()
        self.waits.drop()
        for watch in self.watches { watch.timer?.task.cancel() }
        self.watches = []
        self.voters.end()
    }

    /// Whether it has a watch that has a quarter of the ring before it.
    private var isFarBehind: Bool {
        self.watches.contains { watch in
            watch.isRunning
                && (self.server.ring.head - watch.cursor) * 4
                    > UInt64(self.server.limits.ringChanges)
        }
    }

    /// The channel has written what the socket did not take.
    func hasRoom() {
        // Who is about to lose something does not wait in line.
        if self.isFarBehind, self.user.urgently({ self.flush(isUrgent: true) }) { return }
        self.turn.want()
    }
}
