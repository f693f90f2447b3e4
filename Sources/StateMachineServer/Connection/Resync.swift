import StateMachineProtocol

// What becomes of a reader that has missed changes; `Past.next` says that it has.

extension Watches {
    /// Has a watch that has missed changes go on at the newest, and says so.
    func skip(_ watch: Watch) {
        let isShared = self.server.sharing != nil
        let wasInReach = isShared || watch.isReplaying && self.server.past.disk != nil
        let head = self.server.past.ring.head
        let missed = head - watch.reported
        watch.becomeLive(at: head)
        self.resyncs += 1
        self.server.counters.add(.resyncs)
        self.output.write(
            ServerLine.state(
                id: watch.id,
                self.server.report,
                resync: wasInReach ? .evicted : .lagged,
                missed: missed,
                isSelected: self.server.isShown(watch.selection)
            )[...]
        )
    }
}

extension Waits {
    /// Has a wait go on from the current state: what follows its cursor is no longer available.
    func skip(_ wait: Wait) {
        wait.resync = .evicted
        wait.cursor.seq = self.server.past.ring.head
        wait.isNew = true
    }
}
