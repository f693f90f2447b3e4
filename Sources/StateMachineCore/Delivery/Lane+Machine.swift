import Synchronization

// What a machine does with a lane.
extension Lane {
    /// Called under the machine's lock, so that a drain that reads a later entry sees the member.
    func add(_ member: Member) {
        self.members.withLock { $0.append(member) }
        self.version.add(1, ordering: .sequentiallyConsistent)
    }

    /// Called under the machine's lock, by a caller that holds the member; returns whether the lane
    /// is empty.
    func remove(_ member: Member) -> Bool {
        let (wasThere, isEmpty) = self.members.withLock { ($0.remove(member), $0.isEmpty) }
        if wasThere { self.version.add(1, ordering: .sequentiallyConsistent) }
        return wasThere && isEmpty
    }

    /// Called under the machine's lock: the lane does not count for entries after this one.
    func retire(after position: UInt64) {
        self.end.store(position, ordering: .sequentiallyConsistent)
    }

    /// Called after ``retire(after:)``, under no lock: a retired lane does not count as a sleeper.
    func leave() {
        // It counted for as long as it existed, asleep or not.
        if !self.hasTurns { self.sleepers.leaves() }
        if self.rouse() { self.abandon() }
    }

    /// Called under no lock: a member that leaves meanwhile may be released with the returned
    /// array.
    func allMembers() -> [Member] { self.members.withLock { $0.all } }

    func member(representing object: AnyObject) -> Member? {
        self.members.withLock { $0.member(representing: object) }
    }

    func isTooFarBehind(_ position: UInt64) -> Bool {
        guard let limit = self.limit else { return false }
        let progress = self.progress.load(ordering: .relaxed)
        return position > progress && position - progress > limit
    }

    /// Moves the cursor to `entry`, so that an idle context keeps no memory.
    ///
    /// What it skips is reported as missed. Called by a setter, outside every lock.
    func skip(to entry: LogEntry) {
        // Only a transition can be the newest one missed; at a mark, the next transition will do.
        guard entry.kind == .change else { return }
        let newest = self.change(of: entry)
        // What is pushed out is released after the lock.
        let (start, _) = self.turn.withLock { _ -> (LogEntry?, Missed?) in
            guard self.cursor.position < entry.position else { return (nil, nil) }
            let (passed, before) = (self.cursor, self.missed)
            self.cursor = entry
            let first = before?.first ?? self.firstSeq(after: passed)
            if let first { self.missed = Missed(first: first, newest: newest) }
            return (passed, before)
        }
        guard var passed = start else { return }
        self.progress.store(entry.position, ordering: .relaxed)
        while passed !== entry, let next = passed.next {
            self.passUnheard(next)
            passed = next
        }
    }

    /// Questions and marks have no seq; at most a few lie between two transitions.
    private func firstSeq(after entry: LogEntry) -> UInt64? {
        var entry = entry
        while let next = entry.next {
            if next.kind == .change { return self.change(of: next).seq }
            entry = next
        }
        return nil
    }
}
