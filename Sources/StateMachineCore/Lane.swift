import Synchronization

/// One execution context's view of a machine: a cursor into the log, and who listens there.
///
/// Guarded state:
/// - `isScheduled`: up from the moment a drain is asked for until it has found nothing more. Whoever
///   raised it owns the drain; there is one at a time, whatever the context is.
/// - `reader`: the cursor and what it was too late for, behind a lock that nobody contends for but a
///   setter that finds the lane too far behind.
/// - `progress`: the cursor's position, for that setter to see without the lock.
/// - `isNudged`: whether the members are to be nudged at the end of the next drain.
/// - `end`: the last entry that counts on this lane to pass it.
/// - `members`, with `version` beside it: changed at registration under the machine's lock and this
///   lock, read by the drain under this lock, and only when `version` says that they changed.
/// - `heard`, `heardVersion`, `isDraining`: the drain's own.
///
/// A drain takes no lock of the machine's. `@unchecked Sendable`: the drain's fields are handed from
/// one drain to the next by `isScheduled`, whose operations order them.
final class Lane<State: MachineState>: @unchecked Sendable {
    private struct Reader: Sendable {
        var cursor: TransitionLogEntry<State>
        var missed: Missed<State>?
    }

    let context: any ExecutionContext
    private let refusing: (any RefusingContext)?
    private let removeGone: @Sendable (Lane<State>) -> Void

    private let isScheduled = Atomic<Bool>(false)
    private let version = Atomic<Int>(0)
    private let members = Lock<[Member<State>]>([])
    private let reader: Lock<Reader>
    private let progress: Atomic<UInt64>
    private let isNudged = Atomic<Bool>(false)
    private let end = Atomic<UInt64>(.max)

    private var heard: [Member<State>] = []
    private var heardVersion = 0
    private var isDraining = false

    /// Entries that one drain delivers before it lets the context's other work have its turn.
    ///
    /// 256: a burst of a busy machine, and well below a millisecond of work. Not tuned.
    private static var drainLimit: Int { 256 }

    init(
        context: any ExecutionContext,
        after entry: TransitionLogEntry<State>,
        removeGone: @escaping @Sendable (Lane<State>) -> Void
    ) {
        self.context = context
        self.refusing = context as? any RefusingContext
        self.reader = Lock(Reader(cursor: entry))
        self.progress = Atomic(entry.position)
        self.removeGone = removeGone
    }

    /// Called after something was appended, outside every lock.
    func wake() {
        // A load first: most lanes of a busy machine are awake already, and a load is shared.
        guard !self.isScheduled.load(ordering: .sequentiallyConsistent) else { return }
        guard !self.isScheduled.exchange(true, ordering: .sequentiallyConsistent) else { return }
        self.enqueueDrain()
    }

    /// Has every member called on the context though nothing was appended.
    func nudge() {
        self.isNudged.store(true, ordering: .sequentiallyConsistent)
        self.wake()
    }

    private func enqueueDrain() {
        guard let refusing = self.refusing else {
            self.context.enqueue { self.drain() }
            return
        }
        if !refusing.accepts({ self.drain() }) { self.abandon() }
    }

    private func drain() {
        repeat {
            guard self.deliver(atMost: Self.drainLimit) else {
                self.enqueueDrain()
                return
            }
            self.isScheduled.store(false, ordering: .sequentiallyConsistent)
        } while self.hasMore && !self.isScheduled.exchange(true, ordering: .sequentiallyConsistent)
    }

    private var hasMore: Bool {
        self.isNudged.load(ordering: .sequentiallyConsistent)
            || self.reader.withLock { $0.missed != nil || $0.cursor.next != nil }
    }

    /// Delivers what has been committed so far, now.
    ///
    /// Only on the lane's own context, which has to be serial; a no-op from inside a delivery.
    func catchUp() {
        precondition(self.context.isCurrent == true, "catchUp() was called off the lane's context")
        guard !self.isDraining else { return }
        _ = self.deliver(atMost: .max)
    }

    /// The context has ended: passes what is there, so that nobody waits for it, and tells nobody.
    private func abandon() {
        repeat {
            while let taken = self.take() {
                if case .entry(let entry) = taken { self.pass(entry, hearing: false) }
            }
            self.isNudged.store(false, ordering: .sequentiallyConsistent)
            self.isScheduled.store(false, ordering: .sequentiallyConsistent)
        } while self.hasMore && !self.isScheduled.exchange(true, ordering: .sequentiallyConsistent)
    }
}

// What the drain does.
extension Lane {
    private enum Taken {
        case entry(TransitionLogEntry<State>)
        case missed(Missed<State>)
    }

    private func take() -> Taken? {
        // The passed entry is let go after the lock: with it a state may go, and run a client's
        // code.
        let (taken, _) = self.reader.withLock {
            reader -> (Taken?, passed: TransitionLogEntry<State>) in
            let passed = reader.cursor
            if let missed = reader.missed.take() { return (.missed(missed), passed) }
            guard let entry = passed.next else { return (nil, passed) }
            reader.cursor = entry
            return (.entry(entry), passed)
        }
        if case .entry(let entry)? = taken {
            self.progress.store(entry.position, ordering: .relaxed)
        }
        return taken
    }

    /// Returns false if the limit was reached before the end of the log.
    private func deliver(atMost limit: Int) -> Bool {
        self.isDraining = true
        defer { self.isDraining = false }
        var left = limit
        var hasDelivered = false
        var hasGone = false
        while let taken = self.take() {
            self.refreshHeard()
            switch taken {
            case .missed(let missed):
                hasDelivered = true
                for member in self.heard { member.hearMissed(missed) }
            case .entry(let entry):
                var isHeard = false
                switch entry.content {
                case .beginning, .mark: break
                case .transition(let transition):
                    hasDelivered = true
                    for member in self.heard where member.since < entry.position {
                        if member.hear(transition) {
                            isHeard = true
                        } else if member.isGone {
                            hasGone = true
                        }
                    }
                case .question(let ballot):
                    for member in self.heard where member.since < entry.position {
                        member.answer(ballot)
                    }
                }
                self.pass(entry, hearing: isHeard)
            }
            left -= 1
            guard left > 0 else { return false }
        }
        if hasDelivered {
            for member in self.heard { member.endBurst() }
        }
        if self.isNudged.load(ordering: .sequentiallyConsistent),
            self.isNudged.exchange(false, ordering: .sequentiallyConsistent)
        {
            self.refreshHeard()
            for member in self.heard { member.nudge() }
        }
        if hasGone { self.removeGone(self) }
        return true
    }

    private func pass(_ entry: TransitionLogEntry<State>, hearing isHeard: Bool) {
        guard let passage = entry.passage,
            entry.position <= self.end.load(ordering: .sequentiallyConsistent)
        else { return }
        passage.pass(hearing: isHeard)
    }

    private func refreshHeard() {
        let version = self.version.load(ordering: .sequentiallyConsistent)
        guard version != self.heardVersion else { return }
        self.heardVersion = version
        self.heard = self.members.withLock { $0 }
    }
}

// What a machine does with a lane.
extension Lane {
    /// Called under the machine's lock, so that a drain that reads a later entry sees the member.
    func add(_ member: Member<State>) {
        self.members.withLock { $0.append(member) }
        self.version.add(1, ordering: .sequentiallyConsistent)
    }

    /// Called under the machine's lock; returns whether nobody is left.
    func remove(where isLeaving: (Member<State>) -> Bool) -> Bool {
        let isEmpty = self.members.withLock { members in
            members.removeAll(where: isLeaving)
            return members.isEmpty
        }
        self.version.add(1, ordering: .sequentiallyConsistent)
        return isEmpty
    }

    /// Called under the machine's lock: entries after this one do not count on the lane.
    func retire(after position: UInt64) {
        self.end.store(position, ordering: .sequentiallyConsistent)
    }

    func members(where matches: (Member<State>) -> Bool = { _ in true }) -> [Member<State>] {
        self.members.withLock { $0 }.filter(matches)
    }

    func isBehind(_ position: UInt64, by limit: UInt64) -> Bool {
        let progress = self.progress.load(ordering: .relaxed)
        return position > progress && position - progress > limit
    }

    /// Moves the cursor to `entry`, so that a context that does nothing keeps no memory.
    ///
    /// What it skips is told as missed. Called by a setter, outside every lock.
    func skip(to entry: TransitionLogEntry<State>) {
        // Only a transition can be told as the newest; behind a mark the next one will do.
        guard case .transition(let newest) = entry.content else { return }
        let passed = self.reader.withLock { reader -> TransitionLogEntry<State>? in
            guard reader.cursor.position < entry.position else { return nil }
            let passed = reader.cursor
            reader.cursor = entry
            let first = reader.missed?.first ?? self.firstSeq(after: passed)
            if let first { reader.missed = Missed(first: first, newest: newest) }
            return passed
        }
        guard var passed else { return }
        self.progress.store(entry.position, ordering: .relaxed)
        while passed !== entry, let next = passed.next {
            if case .question(let ballot) = next.content {
                for member in self.members() { ballot.release(ObjectIdentifier(member)) }
            }
            self.pass(next, hearing: false)
            passed = next
        }
    }

    /// Questions and marks have no seq; at most a few lie between two transitions.
    private func firstSeq(after entry: TransitionLogEntry<State>) -> UInt64? {
        var entry = entry
        while let next = entry.next {
            if case .transition(let transition) = next.content { return transition.seq }
            entry = next
        }
        return nil
    }
}
