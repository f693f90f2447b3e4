extension StateMachine {
    /// What has to happen after the lock, when something was appended under it.
    ///
    /// `before` keeps the entry that was the tail until the lock is open: with it a state may go, and
    /// a client's code run.
    @usableFromInline
    struct Appended: Sendable {
        @usableFromInline let before: LogEntry
        @usableFromInline let tail: LogEntry
        @usableFromInline let lanes: [Lane<State>]

        @inlinable
        init(
            before: LogEntry,
            tail: LogEntry,
            lanes: [Lane<State>]
        ) {
            self.before = before
            self.tail = tail
            self.lanes = lanes
        }
    }

    /// What became of an assignment that asks nobody.
    @usableFromInline
    enum Entered {
        case committed(Transition<State>)
        case unchanged(Snapshot<State>)
    }

    /// Assigns `new` without asking anybody, unless it is refused; only without a write-ahead log.
    ///
    /// Judged, and its entry built, outside the lock, since that runs client code; under the lock it
    /// is committed if nothing has moved meanwhile, and judged again if something has. The time is
    /// read after the base, so a later seq never has an earlier reading.
    @inlinable
    func enter(
        _ new: State,
        expecting isExpected: (Snapshot<State>) -> Bool,
        reenter: Bool,
        cause: String?,
        by: Peer?
    ) throws(TransitionError<State>) -> Entered {
        while true {
            let base = self.snapshot
            guard
                try self.changes(base, to: new, expecting: isExpected, reenter: reenter)
            else { return .unchanged(base) }
            let transition = Transition(
                seq: base.seq + 1,
                old: base.state,
                new: new,
                at: .now,
                cause: cause,
                by: by
            )
            let entry = TransitionEntry(
                transition,
                passage: self.options.unheard == nil ? nil : self.passage(of: transition)
            )
            let appended = self.holder.withLock { holder -> Appended? in
                guard holder.seq == base.seq else { return nil }
                return holder.enter(new, as: entry, at: transition.at)
            }
            if let appended {
                self.announce(appended)
                return .committed(transition)
            }
        }
    }

    /// Reports the transition when every lane has passed it and nobody heard it.
    @usableFromInline
    func passage(of transition: Transition<State>) -> Passage? {
        self.options.unheard.map { unheard in
            Passage { wasHeard in if !wasHeard { unheard(transition) } }
        }
    }

    /// Tells the lanes; `.immediate` is the last of them.
    @inlinable
    func announce(_ appended: Appended) {
        // Looked at after the entry was appended: whoever falls asleep later sees the entry first.
        if self.sleepers.isEmpty, self.options.laneLimit == nil, !appended.lanes.isEmpty { return }
        for lane in appended.lanes {
            if lane.isTooFarBehind(appended.tail.position) { lane.skip(to: appended.tail) }
            lane.wake()
        }
        if appended.lanes.isEmpty, self.options.unheard != nil || appended.tail.passage != nil {
            self.completeUnheard(appended)
        }
    }

    @usableFromInline
    func completeUnheard(_ appended: Appended) {
        var entry = appended.before
        while let next = entry.next, next.position <= appended.tail.position {
            next.passage?.completeUnheard()
            entry = next
        }
    }
}
