import StateMachineCore
import StateMachineWire

extension StateServer {
    /// What `stats` answers: who is subscribed, how far behind, what was dropped.
    func stats(id: RequestID?) -> [UInt8] {
        let rows = self.clients.map { JSONValue.object($0.row(head: self.ring.head)) }
        return ServerLine.reply(
            id: id,
            own: { writer in
                writer.number("uptimeMs", self.uptimeMs)
                writer.json("counters", self.counters.json)
                writer.json("connections", .array(rows))
                writer.number("seq", self.report.seq)
            }
        )
    }

    /// What follows the changes in an answer to `history`.
    func summary(of run: HistoryRun) -> [UInt8] {
        let resync = { (writer: inout LineWriter) in
            if let resync = run.resync { writer.string("resync", resync.rawValue) }
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
                writer.number("count", run.count)
                writer.bool("more", run.isStopped || self.hasMore(run))
            },
            rest: resync
        )
    }
}

extension Connection {
    /// One row of `stats`.
    fileprivate func row(head: UInt64) -> [JSONMember] {
        let lag = self.watches.map { head - $0.cursor }.max() ?? 0
        return [
            JSONMember("uid", .count(self.peer.uid)),
            JSONMember("pid", .count(self.peer.pid)),
            JSONMember("door", .string(self.door.rawValue)),
            JSONMember("watches", .count(self.watches.count)),
            JSONMember("waits", .count(self.waits.count)),
            JSONMember("holds", .count(self.holds.count)),
            JSONMember("guards", .count(self.guards.count)),
            JSONMember("sets", .count(self.sets.count)),
            JSONMember("lag", .count(lag)),
            JSONMember("resyncs", .count(self.counts.resyncs)),
            JSONMember("bytes", .count(self.counts.bytes)),
        ]
    }
}
