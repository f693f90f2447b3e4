extension StateMachine {
    /// What has to happen after the lock, when something was appended under it.
    ///
    /// `before` keeps the entry that was the tail until the lock is open: with it a state may go, and
    /// a client's code run.
    struct Appended: Sendable {
        let before: TransitionLogEntry<State>
        let tail: TransitionLogEntry<State>
        let lanes: [Lane<State>]
    }

    /// Tells the lanes; `.immediate` is the last of them.
    func announce(_ appended: Appended) {
        let limit = UInt64(clamping: self.options.laneLimit)
        for lane in appended.lanes {
            if lane.isBehind(appended.tail.position, by: limit) { lane.skip(to: appended.tail) }
            lane.wake()
        }
        guard appended.lanes.isEmpty else { return }
        var entry = appended.before
        while let next = entry.next, next.position <= appended.tail.position {
            next.passage?.completeUnheard()
            entry = next
        }
    }

    /// Waits, without a thread, until every context has passed what was committed before the call.
    ///
    /// A context that never runs anything is waited for, unless it has ended.
    public func flush() async {
        await withCheckedContinuation { continuation in
            let appended = self.holder.withLock { holder -> Appended in
                let before = holder.tail
                holder.append(
                    .mark,
                    passage: Passage(lanes: holder.lanes.count) { _ in continuation.resume() }
                )
                return holder.appended(since: before)
            }
            self.announce(appended)
        }
    }
}

extension StateMachine.Holder {
    func appended(since before: TransitionLogEntry<State>) -> StateMachine<State>.Appended {
        StateMachine<State>.Appended(
            before: before,
            tail: self.tail,
            lanes: self.lanes
        )
    }
}
