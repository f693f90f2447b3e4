import StateMachineCore
import StateMachineProtocol

extension StateServer {
    /// What `stats` answers: who is subscribed, how far behind, what was dropped.
    func stats(id: RequestID?) -> [UInt8] {
        let head = self.ring.head
        return ServerLine.reply(
            id: id,
            own: { writer in
                writer.number("uptimeMs", self.uptimeMs)
                writer.json("counters", self.counters.json)
                writer.objects("connections", self.clients) { $1.writeRow(to: &$0, head: head) }
                writer.number(.seq, self.report.seq)
            }
        )
    }

    /// What follows the changes in an answer to `history`.
    func summary(of run: HistoryRun) -> [UInt8] {
        let resync = { (writer: inout LineWriter) in
            if let resync = run.resync { writer.string(.resync, resync.rawValue) }
        }
        if run.failure != nil {
            // What has failed, which names files, is in the log.
            let message =
                "what follows change \(run.cursor) cannot be read; "
                + "give a later cursor as since, or have the daemon's history mended"
            self.counters.refusals.add()
            return ServerLine.refusal(id: run.id, WireError(.internal, message), rest: resync)
        }
        return ServerLine.reply(
            id: run.id,
            own: { writer in
                writer.number(.count, run.count)
                writer.bool(.more, run.isStopped || self.hasMore(run))
            },
            rest: resync
        )
    }
}

extension Connection {
    /// One row of `stats`.
    fileprivate func writeRow(to writer: inout LineWriter, head: UInt64) {
        writer.number("uid", self.peer.uid)
        writer.number("pid", self.peer.pid)
        writer.string("door", self.parts.door.rawValue)
        writer.number("watches", self.parts.subscriptions.count)
        writer.number("waits", self.parts.waits.count)
        writer.number("holds", self.parts.voters.counts.holds)
        writer.number("guards", self.parts.voters.counts.guards)
        writer.number("sets", self.parts.sets.count)
        writer.number("lag", self.parts.subscriptions.lag(at: head))
        writer.number("resyncs", self.parts.subscriptions.resyncs)
        writer.number("bytes", self.parts.outbox.sent)
    }
}
