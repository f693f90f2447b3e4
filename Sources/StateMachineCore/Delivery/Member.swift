import Synchronization

/// One registration in a lane, from one entry on until cancelled.
///
/// Guarded state:
/// - `since`, `sinceSeq`, `place`: written once, under the machine's lock, before the lane can see
///   the member.
/// - `slot`: the lane's, behind the machine's lock; `isNudged`: the lane's, behind its own.
/// - `beginning`, `isBeginning`: written there too, and the drain's own after that.
/// - `filter`: what it has learnt is the drain's own; its names never change.
/// - `callGuard`: taken for every call, by the lane, one call at a time.
/// - `hasLetGo`: whether it was cancelled and has released what it held.
class Member: @unchecked Sendable {
    /// Hears the entries after this one.
    final var since: UInt64 = 0
    /// The machine's seq when it was registered.
    private final var sinceSeq: UInt64 = 0
    /// The identity of the context whose lane it is in.
    private(set) final var place: ObjectIdentifier?

    /// Its index among the lane's members; nil before and after.
    final var slot: Int?
    /// Whether the lane is to call it although nothing was appended.
    final var isNudged = false

    /// The state that it hears of before everything else, and whether there is one.
    private final var beginning: Place?
    final var isBeginning = false

    final let callGuard = CallGuard()

    /// The states whose changes it hears of; nil: all.
    ///
    /// What the filter has learnt is the drain's own.
    final var filter: StateFilter?

    final var names: Set<String>? { self.filter?.names }

    /// Whether ``burstEnded()`` does anything; claiming the call guard for nothing would cost every
    /// delegate.
    final let hearsBurstEnds: Bool

    /// What it hears first.
    final let start: Start

    /// The object that it represents; nil: none, and nobody will look it up.
    final let object: ObjectIdentifier?

    private final let hasLetGo = Atomic<Bool>(false)

    init(
        of names: Set<String>? = nil,
        starting start: Start = .next,
        representing object: ObjectIdentifier? = nil,
        hearingBurstEnds hearsBurstEnds: Bool = false
    ) {
        self.object = object
        self.filter = names.map { StateFilter($0) }
        self.start = start
        self.hearsBurstEnds = hearsBurstEnds
    }

    /// Called under the machine's lock, before the lane can see the member.
    final func begin(
        at place: ObjectIdentifier,
        after position: UInt64,
        from here: Place
    ) {
        self.place = place
        self.since = position
        self.sinceSeq = here.seq
        switch self.start {
        case .next: break
        case .current:
            self.beginning = here
            self.isBeginning = true
        }
    }

    /// No call begins after this returns.
    ///
    /// What the member holds is released here, or when the running call ends; so never call this
    /// under a lock.
    final func cancel() { self.cancel {} }

    /// As ``cancel()``; `quiet` is called when no call is running either, at once if none is.
    final func cancel(quiet: @escaping @Sendable () -> Void) {
        self.callGuard.cancel {
            if !self.hasLetGo.exchange(true, ordering: .sequentiallyConsistent) { self.letGo() }
            quiet()
        }
    }

    final var isCancelled: Bool { self.callGuard.isCancelled }

    /// Tells it about a change, unless it asks for other states.
    ///
    /// - Parameters:
    ///   - entry: what happened.
    ///   - tag: which case the new state is, if already determined.
    /// - Returns: whether it was told.
    final func hear(_ entry: ChangeEntry, as tag: UInt32?) -> Bool {
        if self.isBeginning { self.hearBeginning() }
        if self.filter?.contains(entry.change.new, as: tag) == false { return false }
        return self.callGuard.run { self.receive(entry) }
    }

    /// Whether it asks for the state that the change led to; only in a drain.
    final func wants(_ change: Change) -> Bool {
        self.filter?.contains(change.new, as: nil) ?? true
    }

    /// Delivers the state that was current at the registration, as a change from that state to
    /// itself.
    final func hearBeginning() {
        guard let place = self.beginning.take() else { return }
        self.isBeginning = false
        _ = self.hear(ChangeEntry(Change(beginningAt: place)), as: nil)
    }

    final func hearMissed(_ missed: Missed) {
        self.hearBeginning()
        let first = max(missed.first, self.sinceSeq + 1)
        guard first <= missed.newest.seq else { return }
        _ = self.callGuard.run {
            self.receiveMissed(Int(missed.newest.seq - first + 1), newest: missed.newest)
            return true
        }
    }

    final func endBurst() {
        _ = self.callGuard.run {
            self.burstEnded()
            return true
        }
    }

    final func nudge() {
        if self.isBeginning {
            self.hearBeginning()
            if self.hearsBurstEnds { self.endBurst() }
        }
        _ = self.callGuard.run {
            self.nudged()
            return true
        }
    }

    /// Delivers what is kept for it, when it has been told of all that came before.
    ///
    /// If it is cancelled, that tells who waits.
    final func flush(_ flush: Flush) {
        self.hearBeginning()
        _ = self.callGuard.run {
            self.deliverKept { flush.pass() }
            return true
        }
    }

    /// Asks the member if it is a voter; cancelling one releases it from the ballot.
    final func answer(_ ballot: Ballot) {
        _ = self.callGuard.run {
            self.receive(ballot)
            return true
        }
    }

    /// Whether this member represents that very object: a dead object's identifier may be reused.
    func represents(_ object: AnyObject) -> Bool { false }

    /// Whether it can never hear anything again, so that it may be removed.
    ///
    /// Asked under no lock: loading a weak reference holds the object for a moment, and that may be
    /// the last hold on it, so that releasing it here runs the object's deinit.
    var isGone: Bool { false }

    /// Whether it is told about changes, and what went missing of them; a voter has nothing of them.
    var hearsChanges: Bool { true }

    /// Whether it counts among those who would hear of a state.
    var isAudience: Bool { true }

    /// Releases what it holds for its calls; called once, when none runs and none will begin, under
    /// no lock.
    func letGo() {}

    /// Returns whether anybody was told.
    ///
    /// It must not keep the entry, which may keep all that follow it.
    func receive(_ entry: ChangeEntry) -> Bool { false }

    /// The lane fell behind its limit and dropped `count` transitions, the last of them `newest`.
    func receiveMissed(_ count: Int, newest: Change) {}

    func receive(_ ballot: Ballot) {}

    /// Called on the context when nothing more is in the log, after at least one transition.
    func burstEnded() {}

    /// Called on the context after a nudge.
    func nudged() {}

    /// Called once, under no lock, when the lane can see it.
    func placed(in lane: Lane) {}

    /// Called on the context: it has been told of all that was committed before the mark.
    func reach(_ mark: DeliveryCount) {}

    /// Delivers what is kept for it, on its context; then calls `given`.
    func deliverKept(then given: @escaping @Sendable () -> Void) { given() }
}

/// Changes that a lane was too late for: the first one's seq, and the last one.
struct Missed: Sendable {
    var first: UInt64
    var newest: Change
}
