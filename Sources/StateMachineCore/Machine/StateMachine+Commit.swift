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

    /// Assigns `new` without asking anybody, unless it is refused; only without a write-ahead log.
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

    /// Makes the transition of the move into that state, unless the machine is not at `base` any more, or
    /// `isStill` says no; then nil.
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

    /// Appends the transition, and wakes those who do not listen inline.
    ///
    /// - Returns: the lanes if some do, and its position; nil if the machine is not at `base` any more.
    ///   They are woken when this has returned, since who tells them may be held up there, and must hold no
    ///   entry: an entry keeps all that follow it.
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
            // Where everybody listens already there is nobody to be told.
            return (before, self.areAwake(holder.lanes) ? nil : holder.appended(since: before))
        }
        guard let done else { return nil }
        // The state before may go with it, and a client's code run: not under the lock.
        defer { withExtendedLifetime(done.before) {} }
        guard let news = done.news else { return (entry.mark, [], entry.position) }
        return (entry.mark, self.wakeOthers(news) ? news.lanes : [], entry.position)
    }

    /// Whether all of the machine's lanes, of which there are some, find what is appended without being woken.
    ///
    /// Asked after it was appended: whoever falls asleep later sees the entry first.
    @inlinable
    func areAwake(_ lanes: [Lane<State>]) -> Bool {
        self.sleepers.isEmpty && self.options.laneLimit == nil && !lanes.isEmpty
    }

    /// The place in the log of what a move makes of a machine at `base`, which it has yet to take.
    ///
    /// As `move.transition(from:to:)`, one by one: nothing is counted but what the entry keeps.
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

    /// Tells the lanes; `.immediate` is the last of them.
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

    /// Has those told who listen inline, on this thread unless another one is at it.
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
