extension Machine {
    /// Calls `done` when all that has been evaluated so far has happened, or has failed to, and its
    /// proposers know.
    ///
    /// So `done` also means that the log has answered whatever it was given before; it is not
    /// called until the log answers. That takes two groups at most. Proposals that wait for voters
    /// are not waited for, and however many proposals wait, this is not refused: a caller that
    /// calls again before `done` must bound that itself. Called from anywhere; calls `done`
    /// straight away on a machine without a write-ahead log.
    package func afterCommits(_ done: @escaping @Sendable () -> Void) {
        // A proposal which goes past the voters and is always refused: its answer waits its turn.
        self.propose(
            Move(to: self.value, if: .holds { _ in false }),
            asking: nil,
            isLimited: false
        ) { _ in done() }
    }

    /// The number of the group that the write-ahead log has been given and has not answered; nil if it has
    /// answered all.
    package var groupUnderWay: UInt64? { self.holder.withLock { $0.gate.groupUnderWay } }

    /// Whether there is a write-ahead log.
    package var hasLog: Bool { self.options.log != nil }

    /// The write-ahead log, if there is one.
    package var log: (any Recording)? { self.options.log }
}
