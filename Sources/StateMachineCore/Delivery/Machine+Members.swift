/// Who is registered with a machine.
extension Machine {
    /// Ends the registrations of what represents `object` in the lane of that identity, or in all.
    func removeMembers(representing object: AnyObject, on identity: ObjectIdentifier?) {
        let lanes = self.holder.withLock { $0.lanes }
        for lane in lanes where identity == nil || lane.identity == identity {
            if let member = lane.member(representing: object) { self.end(member) }
        }
    }

    /// How many members would be told if a state of that name were entered now.
    func responders(to name: String) -> Int {
        self.holder.withLock { $0.lanes }
            .flatMap { $0.allMembers() }
            .count { !$0.isGone && $0.isAudience && $0.names?.contains(name) ?? true }
    }

    func add(_ member: Member, on context: any ExecutionContext) -> Registration {
        _ = self.register(member, on: context)
        return self.registration(of: member)
    }

    func add(
        _ fresh: Member,
        representing object: AnyObject,
        on context: any ExecutionContext
    ) -> Registration {
        let identity = context.identity
        let (member, lane) = self.holder.withLock { holder -> (Member, Lane) in
            let lane = self.lane(for: context, identity, in: &holder)
            if let present = lane.member(representing: object) { return (present, lane) }
            holder.add(fresh, to: lane)
            return (fresh, lane)
        }
        if member === fresh { self.begin(member, on: lane) }
        return self.registration(of: member)
    }

    /// Registers `member` atomically with the returned place: it hears what follows.
    func register(
        _ member: Member,
        on context: any ExecutionContext
    ) -> (lane: Lane, place: Place) {
        let identity = context.identity
        let (lane, place) = self.holder.withLock { holder in
            let lane = self.lane(for: context, identity, in: &holder)
            holder.add(member, to: lane)
            if let voter = member as? VoterMember { holder.gate.voterCame(voter) }
            return (lane, holder.place)
        }
        self.begin(member, on: lane)
        return (lane, place)
    }

    /// Tells the member about the state that it begins with, if it wants that: nothing has been
    /// appended that would wake the lane.
    private func begin(_ member: Member, on lane: Lane) {
        member.placed(in: lane)
        switch member.start {
        case .next: break
        case .current: lane.nudge(member)
        }
    }

    func registration(of member: Member) -> Registration {
        // A member that is gone went with its machine, when no call ran.
        Registration(
            end: { [weak self, weak member] in
                guard let member else { return }
                member.cancel()
                self?.remove(member)
            },
            endQuietly: { [weak self, weak member] quiet in
                guard let member else { return quiet() }
                member.cancel(quiet: quiet)
                self?.remove(member)
            },
            giveKept: { [weak self, weak member] given in
                guard let self, let member else { return given() }
                self.flush(member, then: given)
            }
        )
    }

    /// Has the member told of all that was committed so far, and given what is kept for it; then
    /// calls `given`, or when it is cancelled.
    func flush(_ member: Member, then given: @escaping @Sendable () -> Void) {
        let waiter = Waiter(given)
        guard let place = member.place, member.callGuard.wait(waiter) else { return given() }
        let entry = FlushEntry(Flush(place: place, member: member, waiter: waiter))
        let appended = self.holder.withLock { holder -> Appended? in
            // One that has left was cancelled before.
            guard member.slot != nil else { return nil }
            let before = holder.tail
            holder.append(entry)
            return holder.appended(since: before)
        }
        if let appended { self.announce(appended) }
    }

    /// Ends the member's registration, under no lock.
    func end(_ member: Member) {
        member.cancel()
        self.remove(member)
    }

    private func remove(_ member: Member) {
        let (ballot, left) = self.holder.withLock { holder -> (Ballot?, Lane?) in
            let left = holder.remove(member)
            guard let voter = member as? VoterMember else { return (nil, left) }
            return (holder.gate.voterWent(voter), left)
        }
        left?.leave()
        ballot?.release(ObjectIdentifier(member))
    }

    /// Ends the registrations of a lane's members that are gone; checked under no lock.
    private func sweep(_ lane: Lane) {
        for member in lane.allMembers() where member.isGone { self.end(member) }
    }

    /// The lane of that context; `.immediate` stays last, so that all others are awake before the
    /// setting thread begins to deliver.
    private func lane(
        for context: any ExecutionContext,
        _ identity: ObjectIdentifier,
        in holder: inout Holder
    ) -> Lane {
        if let lane = holder.places[identity] { return lane }
        let lane = Lane(
            context: context,
            identity: identity,
            after: holder.tail,
            limit: self.options.laneLimit,
            sleepers: self.sleepers,
            haveCases: self.options.haveCases
        ) { [weak self] lane in self?.sweep(lane) }
        self.sleepers.comes()
        holder.places[identity] = lane
        holder.insert(lane)
        return lane
    }
}

extension Machine.Holder {
    fileprivate func add(_ member: Member, to lane: Lane) {
        member.begin(at: lane.identity, after: self.tail.position, from: self.place)
        lane.add(member)
    }

    /// The member's lane, if it is empty now: it no longer counts, and is released after the lock.
    fileprivate mutating func remove(_ member: Member) -> Lane? {
        guard
            let place = member.place, let lane = self.places[place],
            lane.remove(member)
        else { return nil }
        lane.retire(after: self.tail.position)
        self.places[place] = nil
        self.remove(lane)
        return lane
    }

    fileprivate mutating func insert(_ lane: Lane) {
        lane.index = self.lanes.count
        self.lanes.append(lane)
        if lane.index > 0, self.lanes[lane.index - 1].context is ImmediateContext {
            self.swapLanes(lane.index - 1, lane.index)
        }
    }

    private mutating func remove(_ lane: Lane) {
        // The last one takes its place; `.immediate` stays the last, so the one before it does.
        var last = self.lanes.count - 1
        if lane.index < last, self.lanes[last].context is ImmediateContext {
            self.swapLanes(lane.index, last - 1)
            last -= 1
            // Now the immediate lane moves up.
            self.swapLanes(last, last + 1)
        } else {
            self.swapLanes(lane.index, last)
        }
        self.lanes.removeLast()
    }

    private mutating func swapLanes(_ one: Int, _ other: Int) {
        guard one != other else { return }
        self.lanes.swapAt(one, other)
        self.lanes[one].index = one
        self.lanes[other].index = other
    }
}
