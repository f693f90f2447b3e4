import Synchronization

/// One registration in a lane: who hears, from which entry on, until cancelled.
///
/// Guarded state:
/// - `since`, `sinceSeq`, `place`: written once, under the machine's lock, before the lane can see the
///   member.
/// - `slot`: the lane's, behind the machine's lock.
/// - `beginning`, `isBeginning`: written there too, and the drain's own after that.
/// - `filter`: what it has learnt is the drain's own; its names never change.
/// - `callGuard`: taken for every call, by the lane, one call at a time.
/// - `hasLetGo`: whether it is cancelled, and what it holds has been let go of.
@usableFromInline
class Member<State: MachineState>: @unchecked Sendable {
    /// Hears the entries after this one.
    @exclusivity(unchecked) @usableFromInline final var since: UInt64 = 0
    /// The machine's seq at the time.
    private final var sinceSeq: UInt64 = 0
    /// The identity of the context whose lane it is in.
    private(set) final var place: ObjectIdentifier?

    /// Where the lane's members have it; nil before and after.
    @exclusivity(unchecked) final var slot: Int?

    /// What it is told of before everything else, and whether there is such a thing.
    @exclusivity(unchecked) private final var beginning: Snapshot<State>?
    @exclusivity(unchecked) @usableFromInline final var isBeginning = false

    @usableFromInline final let callGuard = CallGuard()

    /// The states whose transitions it is told of; nil: all.
    ///
    /// What it has learnt of them is the drain's own.
    @exclusivity(unchecked) @usableFromInline final var filter: StateFilter<State>?

    final var names: Set<State.Name>? { self.filter?.names }

    /// Whether ``burstEnded()`` does anything; claiming for nothing would cost every delegate.
    @usableFromInline final let hearsBurstEnds: Bool

    /// What it is told first.
    final let start: StateMachine<State>.Start

    /// The object that it stands for; nil: none, and nobody will ask for it.
    final let object: ObjectIdentifier?

    private final let hasLetGo = Atomic<Bool>(false)

    init(
        of names: Set<State.Name>? = nil,
        starting start: StateMachine<State>.Start = .next,
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
        at snapshot: Snapshot<State>
    ) {
        self.place = place
        self.since = position
        self.sinceSeq = snapshot.seq
        switch self.start {
        case .next: break
        case .current:
            self.beginning = snapshot
            self.isBeginning = true
        }
    }

    /// No call begins after this returns.
    ///
    /// What the member holds is let go of here, or where the call that is running ends; so this is never
    /// called under a lock.
    final func cancel() { self.cancel {} }

    /// As ``cancel()``; `quiet` is called when no call is running either, at once if none is.
    final func cancel(quiet: @escaping @Sendable () -> Void) {
        self.callGuard.cancel {
            if !self.hasLetGo.exchange(true, ordering: .sequentiallyConsistent) { self.letGo() }
            quiet()
        }
    }

    final var isCancelled: Bool { self.callGuard.isCancelled }

    /// Tells it, unless it asks for other states.
    ///
    /// - Parameters:
    ///   - transition: what happened.
    ///   - tag: which case the new state is, if somebody has looked.
    /// - Returns: whether anything was told.
    @inlinable
    final func hear(_ transition: Transition<State>, as tag: UInt32?) -> Bool {
        if self.isBeginning { self.hearBeginning() }
        if self.filter?.contains(transition.new, as: tag) == false { return false }
        return self.callGuard.run { self.receive(transition) }
    }

    /// The state that was current at the registration, as if it had just been entered from itself.
    @usableFromInline
    final func hearBeginning() {
        guard let snapshot = self.beginning.take() else { return }
        self.isBeginning = false
        let first = Transition(
            seq: snapshot.seq,
            old: snapshot.state,
            new: snapshot.state,
            at: snapshot.at
        )
        _ = self.hear(first, as: nil)
    }

    @usableFromInline
    final func hearMissed(_ missed: Missed<State>) {
        self.hearBeginning()
        let first = max(missed.first, self.sinceSeq + 1)
        guard first <= missed.newest.seq else { return }
        _ = self.callGuard.run {
            self.receiveMissed(Int(missed.newest.seq - first + 1), newest: missed.newest)
            return true
        }
    }

    @usableFromInline
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

    /// Asks, if this is a voter; a cancelled one has been released from the ballot by its cancelling.
    @usableFromInline
    final func answer(_ ballot: Ballot<State>) {
        _ = self.callGuard.run {
            self.receive(ballot)
            return true
        }
    }

    /// Whether this member is that delegate, by life: a dead object's number may be another's by now.
    func represents(_ object: AnyObject) -> Bool { false }

    /// Whether it can never hear anything again, so that it may be removed.
    ///
    /// Asked under no lock: to look at what is held weakly may be to let go of it last.
    @usableFromInline var isGone: Bool { false }

    /// Whether it counts among those who would be told of a state.
    var isAudience: Bool { true }

    /// Lets go of what it holds for its calls; called once, when none runs and none will begin, under no
    /// lock.
    func letGo() {}

    /// Returns whether anybody was told.
    @usableFromInline
    func receive(_ transition: Transition<State>) -> Bool { false }

    /// The lane fell behind its limit; `count` transitions are lost to it, `newest` the last of them.
    func receiveMissed(_ count: Int, newest: Transition<State>) {}

    func receive(_ ballot: Ballot<State>) {}

    /// Called on the context when nothing more is in the log, after at least one transition.
    func burstEnded() {}

    /// Called on the context after a nudge.
    func nudged() {}

    /// Called once, under no lock, when the lane can see it.
    func placed(in lane: Lane<State>) {}

    /// Has what is kept for it given, soon and on its context; then `given` is called.
    func flush(then given: @escaping @Sendable () -> Void) { given() }
}

/// Transitions that a lane was too late for: from which seq on, and the last of them.
@usableFromInline
struct Missed<State: MachineState>: Sendable {
    var first: UInt64
    var newest: Transition<State>
}
