import StateMachineProtocol

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
