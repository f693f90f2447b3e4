package import StateMachineCore

/// What one host keeps on its disk of a machine that several share: what the engine has committed, as far as it has come there, and
/// what a daemon needs to go on after its end.
///
/// The engine has all of it, so nothing waits for it, and nothing is refused where it fails. Everything may be called from any
/// thread.
package protocol SharedCache: PastReading {
    /// What tells this host from another that has its name.
    var instance: String { get }

    /// The leases under which there may be keys of this host, newest last, as they were remembered before this run.
    var leases: [Int64] { get }

    /// Remembers the leases in place of those before.
    ///
    /// - Parameters:
    ///   - leases: the newest last.
    ///   - done: called once, from anywhere, when they are on the disk; or with why they are not.
    func remember(leases: [Int64], done: @escaping @Sendable (_ failure: String?) -> Void)

    /// Where this host was when its last run ended; nil if it has not seen the machine yet.
    var left: SharedPosition? { get }

    /// Has the cache begin anew there: what it has is no longer this machine's past, or there is a gap behind it.
    ///
    /// From the return on nothing of it can be read, until it has begun.
    func begin(at position: SharedPosition)

    /// Adds changes, the next ones in their order, and what is known once they have been seen.
    ///
    /// - Parameters:
    ///   - changes: may be none.
    ///   - engine: what the engine is known by.
    ///   - times: those of the present stay; nil: nothing else than before.
    func append(_ changes: [RecordedTransition], knowing engine: KnownEngine, _ times: StayTimes?)

    /// Gets all of it onto the disk.
    ///
    /// - Parameter done: called once, from anywhere; nil, or why it could not be done.
    func settle(done: @escaping @Sendable (_ failure: String?) -> Void)

    /// The changes that can be read; what is on its way to the disk cannot yet.
    var kept: Range<UInt64> { get }

    /// Calls `handler` with the name of each database that is set aside, as the cache begins anew; there is one handler.
    func onSettingAside(_ handler: @escaping @Sendable (_ file: String) -> Void)
}

/// Where a host is among those that share a machine.
package struct SharedPosition: Hashable, Sendable {
    /// The newest change that it has seen, or as much of it as it knows.
    package let newest: RecordedTransition
    package let epoch: Epoch
    package let engine: KnownEngine
    /// Those of the present stay; nil: nobody has recorded any.
    package let times: StayTimes?

    package init(
        _ newest: RecordedTransition,
        in epoch: Epoch,
        knowing engine: KnownEngine,
        _ times: StayTimes? = nil
    ) {
        (self.newest, self.epoch, self.engine) = (newest, epoch, engine)
        self.times = times
    }
}

/// The times of a stay, as hosts that share a machine tell each other.
package struct StayTimes: Hashable, Sendable {
    /// From when on they count, by the wall clock; those of groups, which are just the ones that something is known of, from their own
    /// moments.
    package let start: StayStart
    /// What is known of them besides what the machine's file says.
    package let known: [KnownTime]

    /// - Parameters:
    ///   - stay: the seq that began the stay.
    ///   - entered: from when on its own times count.
    ///   - known: what is known of them, and of those of groups.
    ///   - group: from when on times of the group count that was entered with that change.
    package init(
        of stay: UInt64,
        since entered: WallTime,
        knowing known: [KnownTime] = [],
        group: (UInt64) -> WallTime? = { _ in nil }
    ) {
        var groups: [StayStart] = []
        for seq in known.compactMap(\.group) where !groups.contains(where: { $0.stay == seq }) {
            groups.append(StayStart(stay: seq, moment: StayMoment(group(seq) ?? entered)))
        }
        self.start = StayStart(stay: stay, moment: StayMoment(entered), groups: groups)
        self.known = known
    }

    /// From when on its own times count.
    package var entered: WallTime { self.start.moment.wall }
}

/// By what a host knows an engine again, beside the numbering and where that is: another one, or an older snapshot, has something
/// else.
package struct KnownEngine: Hashable, Sendable {
    /// A block of its log: the first seq, and what tells it from others.
    package struct Block: Hashable, Sendable {
        package let first: UInt64
        package let digest: UInt64

        package init(first: UInt64, digest: UInt64) { (self.first, self.digest) = (first, digest) }
    }

    /// The numberings before the present one.
    package let earlier: [Epoch]
    /// The newest revision that it has had, and that its head has had.
    package let revision: Int64
    package let head: Int64
    /// The last block; nil if none was seen yet.
    package let block: Block?

    package init(after earlier: [Epoch], revision: Int64, head: Int64, block: Block?) {
        (self.earlier, self.revision) = (earlier, revision)
        (self.head, self.block) = (head, block)
    }
}
