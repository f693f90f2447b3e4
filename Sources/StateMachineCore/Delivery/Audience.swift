/// Whoever has members, each on a context of its own.
protocol MemberOwner: AnyObject, Sendable {
    /// Ends the member's place, after it was cancelled; under no lock.
    func remove(_ member: Member)

    /// Where the member is called, and the position of the newest entry or call there; nil once it
    /// has left.
    func drain(of member: Member) -> (drain: Drain, newest: UInt64)?
}

/// The drains of a machine or a multicast delegate, one for each context, and who is in them.
///
/// Part of what its owner's lock guards; it calls nobody, and releases nothing: what leaves is
/// returned, or held by whoever removes it.
struct Audience: Sendable {
    /// In order of registration; `.immediate` stays last, so that all others are awake before the
    /// setting thread begins to deliver.
    private(set) var drains: [Drain] = []
    private var byContext: [ObjectIdentifier: Drain] = [:]
    /// How many drains have come so far.
    private var drainNumber: UInt64 = 0
    /// How many members have come so far.
    private var number: UInt64 = 0
    private var count = 0
    /// How many there may be before it is time to look for those that are gone: twice as many as there were fewest since
    /// somebody looked.
    private var sweepLimit = Self.firstSweepLimit

    // 64: few enough to be looked through in no time. Not tuned.
    private static let firstSweepLimit = 64

    /// The drain of the context of that identity.
    mutating func drain(at identity: ObjectIdentifier, orMake make: () -> Drain) -> Drain {
        if let drain = self.byContext[identity] { return drain }
        let drain = make()
        self.drainNumber += 1
        let isLast = drain.context === ImmediateContext.immediate
        drain.number = isLast ? .max : self.drainNumber
        self.drains.insert(drain, at: self.drains.index(of: drain.number))
        self.byContext[identity] = drain
        return drain
    }

    mutating func add(
        _ member: Member,
        of owner: any MemberOwner,
        to drain: Drain,
        after position: UInt64 = 0,
        from here: Place? = nil
    ) {
        self.number += 1
        self.count += 1
        member.begin(as: self.number, of: owner, in: drain, after: position, from: here)
        drain.add(member)
    }

    /// The drain to ``Drain/leave()``, if the member was its last one: it no longer counts, and is
    /// released after the lock.
    mutating func remove(_ member: Member, after position: UInt64 = 0) -> Drain? {
        guard let drain = self.drain(of: member) else { return nil }
        self.count -= 1
        self.sweepLimit = min(self.sweepLimit, max(Self.firstSweepLimit, self.count * 2))
        guard drain.remove(member) else { return nil }
        drain.retire(after: position)
        self.byContext[drain.identity] = nil
        self.drains.remove(at: self.drains.index(of: drain.number))
        return drain
    }

    /// Where a member that has not left is called.
    func drain(of member: Member) -> Drain? {
        guard let identity = member.drainIdentity, let drain = self.byContext[identity],
            drain.has(member)
        else {
            return nil
        }
        return drain
    }

    /// The members that represent that object at the place of that identity, or at all.
    func members(representing object: AnyObject, at identity: ObjectIdentifier?) -> [Member] {
        self.drains.filter { identity == nil || $0.identity == identity }
            .compactMap { $0.member(representing: object) }
    }

    /// The drains that have to be looked through for members that are gone; none if that is not due.
    ///
    /// Each member that comes pays a constant: between two sweeps come at least half as many as the second looks at.
    mutating func drainsToSweep() -> [Drain] {
        guard self.count >= self.sweepLimit else { return [] }
        self.sweepLimit = self.count * 2
        return self.drains
    }
}

extension [Drain] {
    /// Where the drain of that number stands, or would stand.
    fileprivate func index(of number: UInt64) -> Int {
        var (low, high) = (0, self.count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Ends the members whose objects are gone, without having to call anybody; under no lock.
    func endGone() {
        for member in self.flatMap(\.allMembers) where member.isGone { member.end() }
    }
}

/// Who is registered with a machine.
extension Machine: MemberOwner {
    /// Ends the registrations of what represents `object` on the context of that identity, or on
    /// all.
    func removeMembers(representing object: AnyObject, on identity: ObjectIdentifier?) {
        let members = self.holder.withLock {
            $0.audience.members(representing: object, at: identity)
        }
        for member in members { member.end() }
    }

    /// How many members would be told if a state of that name were entered now.
    func responders(to name: String) -> Int {
        self.holder.withLock { $0.audience.drains }
            .flatMap { $0.allMembers }
            .count { !$0.isGone && $0.isAudience && $0.names?.contains(name) ?? true }
    }

    /// Registers `fresh` unless what represents `object` is there already.
    func add(
        _ fresh: Member,
        representing object: AnyObject? = nil,
        on context: any ExecutionContext
    ) -> Registration {
        Registration(of: self.register(fresh, representing: object, on: context).member)
    }

    /// Has `change` called with all changes from now on, none of which is dropped.
    ///
    /// - Parameters:
    ///   - context: where it is called, and must not block; nobody else is told there.
    ///   - burstEnd: called there when nothing more is to be told.
    ///   - change: called with each.
    /// - Returns: its registration, the cursor, and where the machine was when that was placed.
    package func follow(
        on context: any ExecutionContext,
        burstEnd: (@Sendable () -> Void)? = nil,
        _ change: @escaping @Sendable (Change) -> Void
    ) -> (registration: Registration, cursor: Drain, start: Place) {
        let calls = CallingMember.Calls(
            change: { _, entry in
                change(entry.change)
                return true
            },
            burstEnd: burstEnd
        )
        let (member, drain, start) = self.register(
            CallingMember(calls),
            on: context,
            isLimited: false
        )
        return (Registration(of: member), drain, start)
    }

    /// Registers a member atomically with the returned place: it hears what follows.
    func register(
        _ fresh: Member,
        representing object: AnyObject? = nil,
        on context: any ExecutionContext,
        isLimited: Bool = true
    ) -> (member: Member, drain: Drain, place: Place) {
        let identity = context.identity
        var isAskedNow = false
        let (member, drain, place, swept) = self.holder.withLock {
            holder -> (Member, Drain, Place, [Drain]) in
            let tail = holder.tail
            let drain = holder.audience.drain(at: identity) {
                Drain(
                    on: context,
                    identity,
                    after: tail,
                    limit: isLimited ? self.options.laneLimit : nil,
                    among: self.sleepers
                )
            }
            if let object, let present = drain.member(representing: object) {
                return (present, drain, holder.place, [])
            }
            holder.audience.add(
                fresh,
                of: self,
                to: drain,
                after: tail.position,
                from: holder.place
            )
            if let voter = fresh as? VoterMember { isAskedNow = holder.gate.voterCame(voter) }
            return (fresh, drain, holder.place, holder.audience.drainsToSweep())
        }
        swept.endGone()
        if isAskedNow { self.pump() }
        // Nothing has been appended that would wake the drain.
        if member === fresh, member.start == .current { member.askForTurn() }
        return (member, drain, place)
    }

    func remove(_ member: Member) {
        // The log's end is released after the lock, with the states that it was about.
        let (ballot, vote, left, _) = self.holder.withLock {
            holder -> (Ballot?, Vote, Drain?, LogEntry) in
            let left = holder.audience.remove(member, after: holder.tail.position)
            let tail = holder.tail
            if holder.audience.drains.isEmpty {
                holder.tail = LogEntry(.beginning, at: tail.position)
            }
            guard let voter = member as? VoterMember else { return (nil, .abstain, left, tail) }
            return (holder.gate.voterWent(voter), voter.lastVote, left, tail)
        }
        left?.leave()
        _ = ballot?.vote(vote, by: member.number)
    }

    func drain(of member: Member) -> (drain: Drain, newest: UInt64)? {
        self.holder.withLock { holder in
            holder.audience.drain(of: member).map { ($0, holder.tail.position) }
        }
    }
}
