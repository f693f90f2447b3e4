extension StateMachine {
    /// What has to happen after the lock, when something was appended under it.
    ///
    /// `before` keeps the former tail until the lock is released: a state may go with it, and that
    /// may run a client's code.
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

    /// Assigns the state without asking voters, unless it is refused; only without a write-ahead
    /// log.
    ///
    /// Evaluated, and its entry built, outside the lock, since that runs client code; under the lock it
    /// is committed if nothing has moved meanwhile, and evaluated again if something has.
    @inlinable
    func enter(_ move: Move<State>) throws(TransitionError<State>) -> Acceptance {
        while true {
            let base = self.snapshot
            let new = try move.state(from: base, announcingEqual: self.options.announcesEqual)
            guard let new else { return .unchanged(base) }
            if let mark = self.commit(move, to: new, from: base, if: { _ in true }) {
                return .committed(move.transition(from: base, to: new, mark))
            }
        }
    }

    /// Makes the move's transition into `new`; nil if the machine is no longer at `base`, or
    /// `isStill` says no.
    @inlinable
    @inline(__always)
    func commit(
        _ move: Move<State>,
        to new: State,
        from base: Snapshot<State>,
        if isStill: (Holder) -> Bool
    ) -> TransitionMark? {
        let done = self.link(self.entry(of: move, from: base, to: new), at: base, if: isStill)
        guard let done else { return nil }
        if !done.lanes.isEmpty { self.tellHere(done.lanes, for: done.position) }
        return done.mark
    }

    /// Appends the transition, and wakes the lanes that are not drained inline.
    ///
    /// - Returns: its position, and the lanes if some are drained inline; nil if the machine is no
    ///   longer at `base`. The caller wakes those after this has returned: delivering may take long
    ///   there, and must hold no entry, since an entry keeps all that follow it.
    @inlinable
    @inline(__always)
    func link(
        _ entry: TransitionEntry<State>,
        at base: Snapshot<State>,
        if isStill: (Holder) -> Bool
    ) -> (mark: TransitionMark, lanes: [Lane<State>], position: UInt64)? {
        let done = self.holder.withLock { holder -> (before: LogEntry, news: Appended?)? in
            guard holder.seq == base.seq, isStill(holder) else { return nil }
            let before = holder.enter(entry.new, as: entry, at: entry.at, stay: entry.stay)
            // If all are awake already, there is no lane to wake.
            return (before, self.areAwake(holder.lanes) ? nil : holder.appended(since: before))
        }
        guard let done else { return nil }
        // The former state may go with it, and run a client's code: not under the lock.
        defer { withExtendedLifetime(done.before) {} }
        guard let news = done.news else { return (entry.mark, [], entry.position) }
        return (entry.mark, self.wakeOthers(news) ? news.lanes : [], entry.position)
    }

    /// Whether the machine has lanes, and all find what is appended without being woken.
    ///
    /// Asked after the append: a lane that falls asleep later sees the entry first.
    @inlinable
    func areAwake(_ lanes: [Lane<State>]) -> Bool {
        self.sleepers.isEmpty && self.options.laneLimit == nil && !lanes.isEmpty
    }

    /// Builds the log entry for what a move makes of a machine at `base`; it is not appended yet.
    ///
    /// As `move.transition(from:to:)`, field by field: only what the entry keeps is
    /// reference-counted.
    @inlinable
    func entry(
        of move: Move<State>,
        from base: Snapshot<State>,
        to new: State
    ) -> TransitionEntry<State> {
        guard self.options.unheard == nil else {
            let transition = move.transition(from: base, to: new)
            return TransitionEntry(
                transition,
                deliveryCount: self.deliveryCount(of: transition)
            )
        }
        return TransitionEntry(
            seq: base.seq + 1,
            old: base.state,
            new: new,
            at: .now,
            cause: move.cause,
            setter: move.setter,
            stay: move.stay(from: base)
        )
    }

    /// Reports the transition when every lane has passed it and nobody heard it.
    @usableFromInline
    func deliveryCount(of transition: Transition<State>) -> DeliveryCount? {
        self.options.unheard.map { unheard in
            DeliveryCount { wasHeard in if !wasHeard { unheard(transition) } }
        }
    }

    /// Wakes the lanes; `.immediate` is the last of them.
    @inlinable
    func announce(_ appended: Appended) {
        guard !self.areAwake(appended.lanes), self.wakeOthers(appended) else { return }
        for lane in appended.lanes where !lane.hasTurns { lane.wake() }
    }

    /// Wakes the lanes that are not drained inline; returns whether some are.
    @inlinable
    func wakeOthers(_ appended: Appended) -> Bool {
        var isHeardHere = false
        for lane in appended.lanes {
            if lane.isTooFarBehind(appended.tail.position) { lane.skip(to: appended.tail) }
            if lane.hasTurns { lane.wake() } else { isHeardHere = true }
        }
        if appended.lanes.isEmpty, self.options.unheard != nil || appended.tail.deliveryCount != nil
        {
            self.completeUnheard(appended)
        }
        return isHeardHere
    }

    /// Drains the inline lanes, on this thread unless another one is doing so.
    @inlinable
    func tellHere(_ lanes: [Lane<State>], for position: UInt64) {
        for lane in lanes where !lane.hasTurns { lane.wakeHere(for: position) }
    }

    @usableFromInline
    func completeUnheard(_ appended: Appended) {
        var entry = appended.before
        while let next = entry.next, next.position <= appended.tail.position {
            next.deliveryCount?.completeUnheard()
            entry = next
        }
    }
}
