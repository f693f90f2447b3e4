import Dispatch
import Synchronization

/// One execution context's view of a machine: a cursor into the log, and the members there.
///
/// Guarded state:
/// - `wakefulness`: awake from the moment a drain is requested until it finds nothing more. Whoever
///   woke the lane owns the drain; there is one at a time, whatever the context.
/// - `cursor`, `missed`: the drain's own, unless the lane has a limit; then a setter that finds the
///   lane too far behind moves them, and both sides take `turn`, which nobody else contends for.
/// - `progress`: the cursor's position, which a setter reads without the lock; without a limit it
///   is updated in steps, and only inline.
/// - `isNudged`: whether members are to be nudged at the end of the next drain.
/// - `end`: the last entry that waits for this lane to pass it, and the last that it reads.
/// - `members`, with `version` beside it: changed at registration under the machine's lock and this
///   lock, read by the drain under this lock, and only when `version` says that they changed.
/// - `heard`, `called`, `heardVersion`, `hearsCases`, `hearsBurstEnds`, `owesBurstEnd`,
///   `isDraining`: the drain's own.
/// - `turns`: for a lane that setters drain inline; guards itself.
///
/// A drain takes none of the machine's locks. `@unchecked Sendable`: the drain's fields are handed
/// from one drain to the next by `wakefulness`, whose operations order them.
final class Lane: @unchecked Sendable {
    let context: any ExecutionContext
    /// The context's, read once.
    let identity: ObjectIdentifier
    /// Its place among the machine's lanes, which the machine's lock guards.
    var index = 0
    private let refusing: (any RefusingContext)?
    let removeGone: @Sendable (Lane) -> Void
    /// Whether the machine's states are told apart by their cases; see ``Value/tag``.
    let haveCases: Bool
    /// How many entries the lane may fall behind; nil: any number.
    let limit: UInt64?
    /// Whether a drain may continue in a later turn of the context; an inline one cannot.
    let hasTurns: Bool
    let lingers: Bool

    /// How many of the machine's lanes sleep; shared by all of them.
    let sleepers: LaneSleepers
    let wakefulness = Atomic<UInt8>(0)
    let version = Atomic<Int>(0)
    let members = Lock(LaneMembers())
    let turn = Lock<Void>(())
    let turns: Turns?
    let progress: Atomic<UInt64>
    let isNudged = Atomic<Bool>(false)
    let end = Atomic<UInt64>(.max)

    var cursor: LogEntry
    var missed: Missed?
    var heard: [Member] = []
    /// The same members, for the calls: counting references for each would take longer than some
    /// delegates do.
    var called: [Unmanaged<Member>] = []
    var heardVersion = 0
    var hearsCases = false
    var hearsBurstEnds = false
    /// Whether something was delivered whose burst end has not been reported yet.
    var owesBurstEnd = false
    var isDraining = false

    /// Entries that one drain delivers before it yields to the context's other work.
    ///
    /// 256: a burst of a busy machine, and well below a millisecond of work. Not tuned.
    static var drainLimit: Int { 256 }

    /// Undelivered entries, inline, beyond which a setter waits for its turn.
    ///
    /// 512: two drains' worth, since `progress` lags by one; some 80 KiB plus the states. Not
    /// tuned.
    static var untoldLimit: UInt64 { 512 }

    init(
        context: any ExecutionContext,
        identity: ObjectIdentifier,
        after entry: LogEntry,
        limit: Int?,
        sleepers: LaneSleepers,
        haveCases: Bool,
        removeGone: @escaping @Sendable (Lane) -> Void
    ) {
        self.context = context
        self.identity = identity
        self.refusing = context as? any RefusingContext
        self.limit = limit.map { UInt64(clamping: $0) }
        self.hasTurns = !(context is any InlineRunning)
        self.turns = self.hasTurns ? nil : Turns()
        self.lingers = context is DispatchQueue
        self.sleepers = sleepers
        self.haveCases = haveCases
        self.cursor = entry
        self.progress = Atomic(entry.position)
        self.removeGone = removeGone
    }

    /// Called after something was appended, outside every lock.
    func wake() {
        // A load first: most lanes of a busy machine are awake already, and loads do not contend.
        guard
            self.wakefulness.load(ordering: .sequentiallyConsistent) != Self.awake,
            self.rouse()
        else { return }
        guard self.hasTurns else {
            self.drainHere()
            return
        }
        self.enqueue { self.drain() }
    }

    /// As ``wake()``, inline, by the thread that has set the state.
    ///
    /// A setter that finds another thread delivering goes on, unless that thread wants to hand over
    /// or cannot keep up; then it waits its turn.
    ///
    /// - Parameter position: of the entry that it has appended.
    func wakeHere(for position: UInt64) {
        if self.wakefulness.load(ordering: .sequentiallyConsistent) != Self.awake, self.rouse() {
            self.drainHere()
        } else {
            self.waitTurn(for: position)
        }
    }

    func waitTurn(for position: UInt64) {
        guard let turns = self.turns, !InlineTelling.isHere else { return }
        let isOurs = turns.wait {
            let told = self.progress.load(ordering: .relaxed)
            return position > told && position - told > Self.untoldLimit
        } while: {
            self.wakefulness.load(ordering: .sequentiallyConsistent) == Self.awake
        }
        if isOurs { self.drainHere() }
    }

    /// Drains on the calling thread, which owns the drain, until all is delivered or another takes
    /// over.
    func drainHere() {
        let isOutermost = InlineTelling.begin()
        defer { InlineTelling.end(outermost: isOutermost) }
        var share = Self.drainLimit
        while true {
            if self.limit == nil {
                self.progress.store(self.cursor.position, ordering: .relaxed)
            }
            if self.deliver(atMost: share) == share {
                if let turns = self.turns, turns.handOver() { return }
                // A thread that takes over waits for one call only.
                share = 1
            } else if !self.fallAsleep() {
                self.turns?.ended()
                return
            }
        }
    }

    /// Calls a member on the context although nothing was appended.
    func nudge(_ member: Member) {
        self.members.withLock { $0.nudge(member) }
        self.isNudged.store(true, ordering: .sequentiallyConsistent)
        self.wake()
    }

    func enqueue(_ drain: @escaping @Sendable () -> Void) {
        guard let refusing = self.refusing else {
            self.context.enqueue(drain)
            return
        }
        if !refusing.accepts(drain) { self.abandon() }
    }

    func drain() {
        // `catchUp()` may deliver something that runs the context's other jobs: this one comes
        // after it.
        guard !self.isDraining else {
            self.enqueue { self.drain() }
            return
        }
        while true {
            let count = self.deliver(atMost: Self.drainLimit)
            // A lane that found several entries is on a busy machine: it looks once more at its next
            // turn before it sleeps, so that the wake-up costs the context and not each setter.
            if count >= Self.drainLimit || count > 1 && self.lingers {
                self.enqueue { self.drain() }
                return
            }
            guard self.fallAsleep() else { return }
        }
    }

    /// Asleep, and counted as a sleeper.
    static var asleep: UInt8 { 0 }
    static var awake: UInt8 { 1 }
    /// Asleep, but retired: no setter need look at it.
    static var retired: UInt8 { 2 }

    /// Wakes the lane and owns the drain, unless it is awake.
    func rouse() -> Bool {
        let before = self.wakefulness.exchange(Self.awake, ordering: .sequentiallyConsistent)
        // A lane that is drained inline always counts as a sleeper: every setter has to look at it.
        if before == Self.asleep, self.hasTurns {
            self.sleepers.leaves()
        }
        return before != Self.awake
    }

    /// Ends the drain, and returns whether it has to go on after all.
    func fallAsleep() -> Bool {
        // Kept before the lane sleeps: after that the cursor is the next drain's.
        let last = self.position
        let isRetired = self.isRetired
        // Counted before it sleeps and before the second look: a setter that finds nobody asleep has
        // appended before that look.
        if !isRetired, self.hasTurns { self.sleepers.comes() }
        self.wakefulness.store(
            isRetired ? Self.retired : Self.asleep,
            ordering: .sequentiallyConsistent
        )
        return (self.hasMore(after: last) || isRetired != self.isRetired) && self.rouse()
    }

    var isRetired: Bool {
        self.end.load(ordering: .sequentiallyConsistent) != .max
    }

    var position: LogEntry {
        self.limit == nil ? self.cursor : self.guardedPosition
    }

    var guardedPosition: LogEntry {
        self.turn.withLock { _ in self.cursor }
    }

    func hasMore(after last: LogEntry) -> Bool {
        // What a setter skipped meanwhile also comes after `last`.
        self.next(after: last) != nil || self.isNudged.load(ordering: .sequentiallyConsistent)
    }

    /// Delivers what has been committed so far, now.
    ///
    /// Only on the lane's own context, which has to be serial; a no-op from inside a delivery.
    func catchUp() {
        precondition(self.context.isCurrent == true, "catchUp() was called off the lane's context")
        guard !self.isDraining else { return }
        _ = self.deliver(atMost: .max)
    }

    /// Passes everything in the log without telling anyone, so that nobody waits for it: the
    /// context has ended, or the lane is empty.
    ///
    /// Only for the owner of the drain.
    func abandon() {
        while true {
            while true {
                let (entry, missed) = self.take()
                guard entry != nil || missed != nil else { break }
                if let entry { self.passUnheard(entry) }
            }
            self.isNudged.store(false, ordering: .sequentiallyConsistent)
            // Members that are not told are released after the lock.
            _ = self.members.withLock { $0.takeNudged() }
            guard self.fallAsleep() else {
                self.turns?.ended()
                return
            }
        }
    }
}

/// What a lane with a limit takes out of an entry before delivering it.
///
/// An entry keeps alive all that follow it, so none may be held while a delegate is called, which
/// may take as long as it likes.
private struct Piece {
    enum Content {
        case nothing
        case mark
        case flush(Flush)
        case change(Change)
        case question(Ballot)
        case missed(Missed)
    }

    let content: Content
    let position: UInt64
    let deliveryCount: DeliveryCount?
}

extension Lane {
    /// As ``deliver(atMost:)``, for a lane with a limit.
    func deliverPieces(atMost limit: Int) -> Int {
        var count = 0
        var hasDelivered = self.owesBurstEnd
        var hasGone = false
        while count < limit, let piece = self.takePiece() {
            count += 1
            if self.version.load(ordering: .sequentiallyConsistent) != self.heardVersion {
                self.refreshHeard()
            }
            var isHeard = false
            switch piece.content {
            case .nothing: break
            case .mark:
                self.owesBurstEnd = hasDelivered
                hasDelivered = false
                self.reach(piece.deliveryCount)
            case .flush(let flush): self.flush(flush)
            case .missed(let missed):
                hasDelivered = true
                for member in self.heard { member.hearMissed(missed) }
            case .change(let change):
                hasDelivered = true
                self.tell(
                    ChangeEntry(change),
                    at: piece.position,
                    to: self.called,
                    &isHeard,
                    &hasGone
                )
            case .question(let ballot): self.ask(ballot, at: piece.position)
            }
            piece.deliveryCount?.pass(hearing: isHeard)
        }
        self.owesBurstEnd = hasDelivered
        if count < limit { self.endTurn() }
        if hasGone { self.sweep() }
        return count
    }

    private func takePiece() -> Piece? {
        let (entry, missed) = self.take()
        if let missed { return Piece(content: .missed(missed), position: 0, deliveryCount: nil) }
        guard let entry else { return nil }
        let content: Piece.Content =
            switch entry.kind {
            case .beginning: .nothing
            case .mark: .mark
            case .flush: .flush(unsafeDowncast(entry, to: FlushEntry.self).flush)
            case .change: .change(self.change(of: entry))
            case .question: .question(self.ballot(of: entry))
            }
        return Piece(content: content, position: entry.position, deliveryCount: entry.deliveryCount)
    }
}

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

/// How many of a machine's lanes sleep, so that a setter on a busy machine reads one number instead
/// of looking at every lane.
///
/// Never too low: a lane counts itself before it sleeps, and is counted off after it was woken.
/// Retired lanes do not count; lanes that are drained inline always do.
final class LaneSleepers: Sendable {
    let count = Atomic<Int>(0)

    var isEmpty: Bool { self.count.load(ordering: .sequentiallyConsistent) == 0 }

    func comes() { self.count.add(1, ordering: .sequentiallyConsistent) }

    func leaves() { self.count.subtract(1, ordering: .sequentiallyConsistent) }
}
