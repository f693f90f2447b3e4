import NIOCore
import StateMachineCore
import StateMachineProtocol

/// Lines from before the ring, a few at a time: the next ones are read when the socket has taken the
/// last ones.
extension Connection {
    /// Where a reader stands after a piece of its past.
    enum PastProgress {
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
    func writePast(_ past: Past, of watch: Watch) -> PastProgress {
        switch watch.past.next() {
        case .wait: return .waiting
        case .ask:
            let wish = HistoryLines.Wish(
                head: Array(watch.head.bytes),
                only: watch.only,
                mode: watch.mode,
                // What is committed may be ahead of what has been announced.
                end: self.server.ring.head
            )
            self.ask(past, after: watch.cursor, wish) { connection, finding in
                watch.past.arrived(finding, canWrite: !connection.outbox.isBlocked)
            }
            return .waiting
        case .take(let finding):
            guard let changes = finding.following(watch.cursor) else { return .lost }
            let (isDone, last) = self.write(changes)
            if let last { watch.reported = last.seq }
            watch.cursor = isDone ? changes.examined : last?.seq ?? watch.cursor
            return isDone ? .wrote : .stopped
        }
    }

    /// Writes a piece of an answer to `history` that the ring does not have; what is missing is passed
    /// over, and what cannot be read ends the answer.
    func writePast(_ past: Past, of run: HistoryRun) -> PastProgress {
        switch run.past.next() {
        case .wait: return .waiting
        case .ask:
            let wish = HistoryLines.Wish(
                head: Array(run.head.bytes),
                only: run.only,
                end: run.end,
                limit: run.left
            )
            self.ask(past, after: run.cursor, wish) { connection, finding in
                run.past.arrived(finding, canWrite: !connection.outbox.isBlocked)
            }
            return .waiting
        case .take(.unreadable(let failure)):
            run.fail(failure)
            return .wrote
        case .take(.nothing):
            run.passOver(to: self.server.ring.first, asPruned: past.first > run.cursor + 1)
            return .wrote
        case .take(.found(let changes, let first)):
            if first > run.cursor + 1 {
                // What the disk has lost the ring may have.
                let next = min(first, self.server.ring.first)
                run.passOver(to: next, asPruned: past.first > run.cursor + 1)
                guard run.cursor + 1 == first, !run.isDone else { return .wrote }
            }
            let (isDone, last) = self.write(changes)
            if let last { run.sent(last.count) }
            run.cursor = isDone ? changes.examined : last?.seq ?? run.cursor
            if isDone, changes.hasMore { run.stop() }
            return isDone ? .wrote : .stopped
        }
    }

    /// Ends what is being read: the client may go on from its last line when it comes back.
    func leavePast() {
        for watch in self.watches where watch.past.isUnderWay { watch.timer?.task.cancel() }
        self.watches.removeAll { $0.past.isUnderWay }
        if let run = self.outbox.run, run.past.isUnderWay { run.stop() }
    }

    private func ask(
        _ past: Past,
        after seq: UInt64,
        _ wish: HistoryLines.Wish,
        arrived: @escaping (Connection, HistoryChunk<HistoryLines>) -> Void
    ) {
        let reader = NIOLoopBound((self, arrived), eventLoop: self.channel.eventLoop)
        past.read(
            after: seq,
            for: self.peer.uid,
            making: { HistoryLines($0, wish, in: past.epoch) },
            done: { finding in
                let (connection, arrived) = reader.value
                arrived(connection, finding)
                connection.turn.want()
            }
        )
    }

    /// Writes the lines; what the socket does not take of the line in which it stops is left to the
    /// channel, and the rest is forgotten.
    private func write(
        _ changes: HistoryLines
    ) -> (isDone: Bool, last: (seq: UInt64, count: Int)?) {
        let all = changes.lines.last.map { (seq: $0.seq, count: changes.lines.count) }
        guard !changes.bytes.isEmpty else { return (true, nil) }
        guard let count = self.outbox.offer(changes.bytes[...]) else { return (false, nil) }
        guard count < changes.bytes.count else { return (true, all) }
        var end = 0
        var last: (seq: UInt64, count: Int) = (0, 0)
        for line in changes.lines {
            end += line.length
            last = (line.seq, last.count + 1)
            if end > count { break }
        }
        self.outbox.leave(changes.bytes[count..<end])
        return (false, last)
    }
}
