import StateMachineProtocol

/// A watch has missed changes: it is told how many, and goes on at the newest.
struct Resync {
    let reason: ServerLine.Resync

    /// What was to come next is not kept any more.
    static let evicted = Resync(reason: .evicted)

    private init(reason: ServerLine.Resync) { self.reason = reason }

    /// Where the changes are that a watch has not been sent.
    enum Source {
        case ring
        /// A past that is replayed.
        case history(HistoryReader)
        /// Nowhere: the reader was too slow.
        case none(Resync)
    }

    /// Where a watch goes on.
    static func source(of watch: Watch, at server: StateServer) -> Source {
        if server.ring.reaches(back: watch.cursor) { return .ring }
        // Only what is replayed is read from there: who listens and is slow is told of the loss.
        guard watch.isReplaying, let past = server.past else {
            return .none(Resync(reason: .lagged))
        }
        return .history(past)
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
