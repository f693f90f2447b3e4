import Synchronization

// What the drain does.
extension Lane {
    /// The next thing to deliver: an entry, or what the lane was too late for; neither at the end.
    typealias Taken = (entry: LogEntry?, missed: Missed?)

    /// Only for a lane without a limit.
    func takeNext() -> LogEntry? {
        guard let entry = self.next(after: self.cursor) else { return nil }
        // The passed entry is released after the cursor has moved: its state may go with it, and
        // that may run a client's code.
        let passed = exchange(&self.cursor, with: entry)
        withExtendedLifetime(passed) {}
        return entry
    }

    /// The entry after that one, for which the lane counts.
    func next(after entry: LogEntry) -> LogEntry? {
        entry.position < self.end.load(ordering: .sequentiallyConsistent) ? entry.next : nil
    }

    func take() -> Taken { self.limit == nil ? (self.takeNext(), nil) : self.takeGuarded() }

    private func takeGuarded() -> Taken {
        let (taken, _) = self.turn.withLock { _ -> (Taken, passed: LogEntry) in
            let passed = self.cursor
            if let missed = self.missed.take() { return ((nil, missed), passed) }
            guard let entry = self.next(after: passed) else { return ((nil, nil), passed) }
            self.cursor = entry
            return ((entry, nil), passed)
        }
        if let entry = taken.entry { self.progress.store(entry.position, ordering: .relaxed) }
        return taken
    }

    /// The change of an entry whose kind says it has one; a checked cast would cost more than
    /// calling a delegate.
    func change(of entry: LogEntry) -> Change {
        unsafeDowncast(entry, to: ChangeEntry.self).change
    }

    /// Delivers what was appended.
    ///
    /// - Returns: how many entries were delivered.
    func deliver(atMost limit: Int) -> Int {
        precondition(!self.isDraining, "a lane delivers inside a delivery of its own")
        self.isDraining = true
        defer { self.isDraining = false }
        guard self.limit == nil else { return self.deliverPieces(atMost: limit) }
        var count = 0
        var hasDelivered = self.owesBurstEnd
        var hasGone = false
        // Kept from entry to entry: each read of the field counts references.
        var called = self.called
        while count < limit, let entry = self.takeNext() {
            count += 1
            if self.version.load(ordering: .sequentiallyConsistent) != self.heardVersion {
                self.refreshHeard()
                called = self.called
            }
            var isHeard = false
            switch entry.kind {
            case .beginning: break
            case .mark:
                self.owesBurstEnd = hasDelivered
                hasDelivered = false
                self.reach(entry.deliveryCount)
            case .flush: self.flush(unsafeDowncast(entry, to: FlushEntry.self).flush)
            case .change:
                hasDelivered = true
                self.tell(
                    unsafeDowncast(entry, to: ChangeEntry.self),
                    at: entry.position,
                    to: called,
                    &isHeard,
                    &hasGone
                )
            case .question: self.ask(entry)
            }
            entry.deliveryCount?.pass(hearing: isHeard)
        }
        self.owesBurstEnd = hasDelivered
        if count < limit { self.endTurn() }
        if hasGone { self.sweep() }
        return count
    }

    /// Tells all members, some of whom may ask for certain states only.
    func tell(
        _ entry: ChangeEntry,
        at position: UInt64,
        to called: [Unmanaged<Member>],
        _ isHeard: inout Bool,
        _ hasGone: inout Bool
    ) {
        let tag = self.hearsCases ? entry.change.new.tag : nil
        // By index: an iterator counts one more reference.
        for index in called.indices {
            called[index]._withUnsafeGuaranteedRef { member in
                guard member.since < position else { return }
                if member.hear(entry, as: tag) {
                    isHeard = true
                } else if member.isGone {
                    hasGone = true
                }
            }
        }
    }

    func ask(_ ballot: Ballot, at position: UInt64) {
        for member in self.heard where member.since < position { member.answer(ballot) }
    }

    func ask(_ entry: LogEntry) { self.ask(self.ballot(of: entry), at: entry.position) }

    func ballot(of entry: LogEntry) -> Ballot {
        unsafeDowncast(entry, to: QuestionEntry.self).ballot
    }

    /// Delivers, at a mark, all that came before it.
    func reach(_ mark: DeliveryCount?) {
        self.endTurn()
        guard let mark else { return }
        for member in self.heard { member.reach(mark) }
    }

    func flush(_ flush: Flush) {
        guard flush.place == self.identity else { return }
        guard let member = flush.member else { return flush.pass() }
        member.flush(flush)
    }

    func endTurn() {
        if exchange(&self.owesBurstEnd, with: false), self.hearsBurstEnds { self.endBurst() }
        if self.isNudged.load(ordering: .sequentiallyConsistent) { self.nudgeMembers() }
    }

    func endBurst() {
        for member in self.heard where member.hearsBurstEnds { member.endBurst() }
    }

    func nudgeMembers() {
        guard self.isNudged.exchange(false, ordering: .sequentiallyConsistent) else { return }
        // Those that have left are released after the lock, with what they were to begin with.
        let nudged = self.members.withLock { $0.takeNudged() }
        for member in nudged { member.nudge() }
    }

    func sweep() { self.removeGone(self) }

    /// Passes an entry that no member here will hear: its voters are waited for no longer.
    func passUnheard(_ entry: LogEntry) {
        if entry.kind == .question {
            let ballot = self.ballot(of: entry)
            for member in self.allMembers() { ballot.release(ObjectIdentifier(member)) }
        }
        if entry.kind == .flush {
            let flush = unsafeDowncast(entry, to: FlushEntry.self).flush
            if flush.place == self.identity { flush.pass() }
        }
        entry.deliveryCount?.pass(hearing: false)
    }

    func refreshHeard() {
        self.heardVersion = self.version.load(ordering: .sequentiallyConsistent)
        // Members that have left are released after the field has changed.
        let left = self.heard
        self.heard = self.members.withLock { $0.all }
        self.called = self.heard.compactMap { $0.hearsChanges ? .passUnretained($0) : nil }
        self.hearsCases = self.haveCases && self.heard.contains { $0.names != nil }
        self.hearsBurstEnds = self.heard.contains(where: \.hearsBurstEnds)
        withExtendedLifetime(left) {}
    }
}
