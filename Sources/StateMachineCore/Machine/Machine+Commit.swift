extension Machine {
    /// What has to happen after the lock, when something was appended under it.
    ///
    /// `before` keeps the former tail until the lock is released: a state may go with it, and that
    /// may run a client's code.
    struct Appended: Sendable {
        let before: LogEntry
        let tail: LogEntry
        let lanes: [Lane]
    }

    /// The way in that waits for nobody: what became of the move; nil if it has to wait its turn.
    ///
    /// Evaluated, and its entry built, outside the lock, since that runs client code; under the lock it
    /// is committed if nothing has moved meanwhile, and evaluated again if something has.
    ///
    /// - Parameters:
    ///   - move: what is asked for.
    ///   - voting: what it has to do with voters.
    /// - Returns: what became of it; nil if it has to wait.
    package func enterAtOnce(_ move: Move, asking voting: Voting) -> Move.Answer? {
        guard !self.hasLog else { return nil }
        while true {
            var (hasVoters, version, isFree) = (false, 0, false)
            let base = self.holder.withLock { holder in
                hasVoters = !holder.gate.voters.isEmpty
                version = holder.gate.votersVersion
                isFree = holder.gate.isFree
                return holder.place
            }
            guard isFree || voting.goesPast else { return nil }
            let new: Value
            do {
                let found = try move.state(from: base, announcingEqual: self.options.announcesEqual)
                guard let found else { return .success(.unchanged(base)) }
                new = found
            } catch {
                return .failure(error)
            }
            switch voting {
            case .past: break
            case .nobody(let denials):
                guard !hasVoters || !self.isAnybodyAsked(about: move, into: new, from: base)
                else { return nil }
                if let denials {
                    return .failure(Refused(.denied(by: denials), current: base))
                }
            }
            let change = move.change(from: base, to: new)
            let heard = self.link(
                ChangeEntry(change, deliveryCount: self.deliveryCount(of: change)),
                ifFreeSince: voting.goesPast ? nil : version
            )
            guard let heard else { continue }
            if !heard.here.isEmpty { self.tellHere(heard.here, for: heard.position) }
            return .success(.committed(change))
        }
    }

    /// What a move that is to happen at once has to do with voters.
    package enum Voting: Sendable {
        /// It goes past them, and past the proposals that wait.
        case past
        /// It happens only if nobody is asked; then these denials count, if there are any.
        case nobody(denials: [Vote.Denial]?)

        fileprivate var goesPast: Bool {
            switch self {
            case .past: true
            case .nobody: false
            }
        }
    }

    private func isAnybodyAsked(about move: Move, into new: Value, from base: Place) -> Bool {
        let voters = self.holder.withLock { $0.gate.voters }
        let motion = move.motion(to: new, at: base)
        return self.present(voters).contains { $0.isAsked(motion) }
    }

    /// Appends the change, and wakes the lanes that are not drained inline.
    ///
    /// - Parameters:
    ///   - entry: the change's.
    ///   - version: of the gate, which has to be free since; nil: that does not matter.
    /// - Returns: the lanes if some are drained inline, and the entry's position; nil if the machine has moved, or the
    ///   gate is not free. The caller wakes those after this has returned: delivering may take long there, and must
    ///   hold no entry, since an entry keeps all that follow it.
    private func link(
        _ entry: ChangeEntry,
        ifFreeSince version: Int?
    ) -> (here: [Lane], position: UInt64)? {
        // The former tail, and with it perhaps the former state, is released after the lock: that may run a client's
        // code.
        var before: LogEntry?
        var lanes: [Lane] = []
        var areAwake = false
        let isDone = self.holder.withLock { holder in
            guard holder.place.seq + 1 == entry.change.seq else { return false }
            if let version, !holder.gate.isFree(since: version) { return false }
            before = holder.enter(entry)
            // If all are awake already, there is no lane to wake.
            areAwake = self.areAwake(holder.lanes)
            if !areAwake { lanes = holder.lanes }
            return true
        }
        guard isDone, let before else { return nil }
        guard !areAwake else { return ([], entry.position) }
        let news = Appended(before: before, tail: entry, lanes: lanes)
        return (self.wakeOthers(news) ? lanes : [], entry.position)
    }

    /// Whether the machine has lanes, and all find what is appended without being woken.
    ///
    /// Asked after the append: a lane that falls asleep later sees the entry first.
    private func areAwake(_ lanes: [Lane]) -> Bool {
        self.sleepers.isEmpty && self.options.laneLimit == nil && !lanes.isEmpty
    }

    /// Builds the log entry for what a move makes of a machine at `base`; it is not appended yet.
    func entry(of move: Move, from base: Place, to new: Value) -> ChangeEntry {
        let change = move.change(from: base, to: new)
        return ChangeEntry(change, deliveryCount: self.deliveryCount(of: change))
    }

    /// Reports the change when every lane has passed it and nobody heard it.
    private func deliveryCount(of change: Change) -> DeliveryCount? {
        self.options.unheard.map { unheard in
            DeliveryCount { wasHeard in if !wasHeard { unheard(change) } }
        }
    }

    /// Wakes the lanes; `.immediate` is the last of them.
    func announce(_ appended: Appended) {
        guard !self.areAwake(appended.lanes), self.wakeOthers(appended) else { return }
        for lane in appended.lanes where !lane.hasTurns { lane.wake() }
    }

    /// Wakes the lanes that are not drained inline; returns whether some are.
    private func wakeOthers(_ appended: Appended) -> Bool {
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
    private func tellHere(_ lanes: [Lane], for position: UInt64) {
        for lane in lanes where !lane.hasTurns { lane.wakeHere(for: position) }
    }

    private func completeUnheard(_ appended: Appended) {
        var entry = appended.before
        while let next = entry.next, next.position <= appended.tail.position {
            next.deliveryCount?.completeUnheard()
            entry = next
        }
    }
}
