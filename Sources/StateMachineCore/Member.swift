/// One registration in a lane: who hears, from which entry on, until cancelled.
///
/// Guarded state:
/// - `since`, `sinceSeq`: written once, under the machine's lock, before the lane can see the member.
/// - `beginning`, `isBeginning`: written there too, and the drain's own after that.
/// - `claim`: taken for every call, by the lane, one call at a time.
@usableFromInline
class Member<State: MachineState>: @unchecked Sendable {
    /// Hears the entries after this one.
    @exclusivity(unchecked) @usableFromInline final var since: UInt64 = 0
    /// The machine's seq at the time.
    private final var sinceSeq: UInt64 = 0

    /// What it is told of before everything else, and whether there is such a thing.
    @exclusivity(unchecked) private final var beginning: Snapshot<State>?
    @exclusivity(unchecked) @usableFromInline final var isBeginning = false

    @usableFromInline final let claim = Claim()

    /// The states whose transitions it is told of; nil: all.
    @usableFromInline final let names: Set<State.Name>?

    /// Whether ``burstEnded()`` does anything; claiming for nothing would cost every delegate.
    @usableFromInline final let hearsBurstEnds: Bool

    /// What it is told first.
    final let start: Start

    init(
        of names: Set<State.Name>? = nil,
        starting start: Start = .next,
        hearingBurstEnds hearsBurstEnds: Bool = false
    ) {
        self.names = names
        self.start = start
        self.hearsBurstEnds = hearsBurstEnds
    }

    /// Called under the machine's lock, before the lane can see the member.
    final func begin(after position: UInt64, at snapshot: Snapshot<State>) {
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
    final func cancel() { self.claim.cancel() }

    /// As ``cancel()``; `quiet` is called when no call is running either, at once if none is.
    final func cancel(quiet: @escaping @Sendable () -> Void) { self.claim.cancel(quiet: quiet) }

    final var isCancelled: Bool { self.claim.isCancelled }

    /// Returns whether anything was told.
    @inlinable
    final func hear(_ transition: Transition<State>) -> Bool {
        if self.isBeginning { self.hearBeginning() }
        return self.hearNext(transition)
    }

    @inlinable
    final func hearNext(_ transition: Transition<State>) -> Bool {
        if let names = self.names, !names.contains(transition.new.name) { return false }
        return self.claim.run { self.receive(transition) }
    }

    /// The state that was current at the registration, as if it had just been entered from itself.
    @usableFromInline
    final func hearBeginning() {
        guard let snapshot = self.beginning.take() else { return }
        self.isBeginning = false
        _ = self.hearNext(
            Transition(
                seq: snapshot.seq,
                old: snapshot.state,
                new: snapshot.state,
                at: snapshot.at
            )
        )
    }

    @usableFromInline
    final func hearMissed(_ missed: Missed<State>) {
        self.hearBeginning()
        let first = max(missed.first, self.sinceSeq + 1)
        guard first <= missed.newest.seq else { return }
        _ = self.claim.run {
            self.receiveMissed(Int(missed.newest.seq - first + 1), newest: missed.newest)
            return true
        }
    }

    @usableFromInline
    final func endBurst() {
        _ = self.claim.run {
            self.burstEnded()
            return true
        }
    }

    final func nudge() {
        if self.isBeginning {
            self.hearBeginning()
            if self.hearsBurstEnds { self.endBurst() }
        }
        _ = self.claim.run {
            self.nudged()
            return true
        }
    }

    /// Asks, if this is a voter; a cancelled one has been released from the ballot by its cancelling.
    @usableFromInline
    final func answer(_ ballot: Ballot<State>) {
        _ = self.claim.run {
            self.receive(ballot)
            return true
        }
    }

    /// Whether this member is that delegate; adding a pair twice must find it.
    func represents(_ object: AnyObject) -> Bool { false }

    /// Whether it can never hear anything again, so that it may be removed.
    @usableFromInline var isGone: Bool { false }

    /// Returns whether anybody was told.
    @usableFromInline
    func receive(_ transition: Transition<State>) -> Bool { false }

    /// The lane fell behind its limit; `count` transitions are lost to it, `newest` the last of them.
    func receiveMissed(_ count: Int, newest: Transition<State>) {}

    func receive(_ ballot: Ballot<State>) {}

    /// Called on the context when nothing more is in the log, after at least one transition.
    func burstEnded() {}

    /// Called on the context after ``Lane/nudge()``.
    func nudged() {}
}

/// Transitions that a lane was too late for: from which seq on, and the last of them.
@usableFromInline
struct Missed<State: MachineState>: Sendable {
    var first: UInt64
    var newest: Transition<State>
}
