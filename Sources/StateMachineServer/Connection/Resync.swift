import StateMachineProtocol

/// A watch has missed changes: it is told how many, and goes on at the newest.
struct Resync {
    let reason: ServerLine.Resync

    /// What was to come next is not kept any more.
    static let evicted = Resync(reason: .evicted)

    private init(reason: ServerLine.Resync) { self.reason = reason }

    /// Of a watch whose reader is slow: what it has not been sent is not in the ring any more; nil if it is, or is replayed
    /// from the history.
    init?(of watch: Watch, at server: StateServer) {
        guard
            !server.ring.reaches(back: watch.cursor),
            !watch.isReplaying || server.past == nil
        else { return nil }
        self.init(reason: .lagged)
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
