extension StateMachine {
    /// Tells `delegate` about every transition from now on, on `context`, in order.
    ///
    /// Adding the same delegate on the same context again returns a registration of the same place:
    /// it is still told once, and about what it was first added for.
    ///
    /// - Parameters:
    ///   - delegate: the delegate to tell.
    ///   - context: where it is called.
    ///   - names: the states whose entry it hears of; nil: all.
    ///   - retaining: whether the machine keeps the delegate alive until its registration is
    ///     cancelled.
    ///   - start: whether it hears of the current state first, if that is one of `names`: as a
    ///     transition from that state to itself with its seq. Nothing lies between that and the
    ///     next one it hears of. On `.immediate` it has been told when this returns, with the
    ///     exceptions that apply to an assignment.
    ///   - delivery: which transitions it hears of, and when, by the machine's clock; by default
    ///     each. Those there was no room for are reported as missed; those replaced by a newer one
    ///     are not.
    /// - Returns: its registration.
    @discardableResult
    public func addDelegate(
        _ delegate: some StateDelegate<State>,
        on context: any ExecutionContext = .immediate,
        of names: Set<State.Name>? = nil,
        retaining: Bool = false,
        starting start: Start = .next,
        delivering delivery: Delivery<Transition<State>> = .each
    ) -> Registration {
        let member: Member<State>
        if delivery.isStraight {
            member = DelegateMember(delegate, of: names, retaining: retaining, starting: start)
        } else {
            let retained = retaining ? delegate : nil
            member = DeliveredMember(
                delivery,
                by: self.options.clock,
                of: names,
                starting: start,
                for: delegate,
                representing: ObjectIdentifier(delegate),
                missed: { [weak delegate] in delegate?.transitionsMissed($0, now: $1) },
                body: { [weak delegate] in (retained ?? delegate)?.stateChanged($0) }
            )
        }
        return self.add(member, representing: delegate, on: context)
    }

    /// Calls `body` with every transition from now on, on `context`, in order.
    ///
    /// - Parameters:
    ///   - context: where it is called.
    ///   - names: the states whose entry it hears of; nil: all.
    ///   - start: whether it hears of the current state first, as described at
    ///     ``addDelegate(_:on:of:retaining:starting:delivering:)``.
    ///   - delivery: which transitions it hears of, and when, by the machine's clock; by default
    ///     each.
    ///   - body: kept until the registration is cancelled.
    /// - Returns: its registration.
    @discardableResult
    // On `.main`, the overload that takes a main-actor closure is preferred.
    @_disfavoredOverload
    public func addObserver(
        on context: any ExecutionContext = .immediate,
        of names: Set<State.Name>? = nil,
        starting start: Start = .next,
        delivering delivery: Delivery<Transition<State>> = .each,
        _ body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let member =
            delivery.isStraight
            ? ObserverMember<State>(of: names, starting: start, body)
            : DeliveredMember<State>(
                delivery,
                by: self.options.clock,
                of: names,
                starting: start,
                body: body
            )
        return self.add(member, on: context)
    }

    /// Calls `body` for an object while it lives.
    func addObject<Object: AnyObject & Sendable>(
        _ object: Object,
        on context: any ExecutionContext,
        of names: Set<State.Name>?,
        retaining: Bool,
        starting start: Start,
        delivering delivery: Delivery<Transition<State>>,
        _ body: @escaping @Sendable (Object, Transition<State>) -> Void
    ) -> Registration {
        let member: Member<State>
        if delivery.isStraight {
            member = ObjectMember(
                object,
                of: names,
                retaining: retaining,
                starting: start,
                body: body
            )
        } else {
            let retained = retaining ? object : nil
            member = DeliveredMember(
                delivery,
                by: self.options.clock,
                of: names,
                starting: start,
                for: object,
                body: { [weak object] transition in
                    if let object = retained ?? object { body(object, transition) }
                }
            )
        }
        return self.add(member, on: context)
    }

    /// Ends the registrations of `delegate` on `context`, or everywhere.
    ///
    /// No call begins after this returns.
    public func removeDelegate(
        _ delegate: some StateDelegate<State>,
        on context: (any ExecutionContext)? = nil
    ) {
        let identity = context?.identity
        let lanes = self.holder.withLock { $0.lanes }
        for lane in lanes where identity == nil || lane.identity == identity {
            if let member = lane.member(representing: delegate) { self.end(member) }
        }
    }

    /// How many members would be told if a state of that name were entered now.
    public func responders(to name: State.Name) -> Int {
        self.holder.withLock { $0.lanes }
            .flatMap { $0.allMembers() }
            .count { !$0.isGone && $0.isAudience && $0.names?.contains(name) ?? true }
    }

    func add(_ member: Member<State>, on context: any ExecutionContext) -> Registration {
        _ = self.register(member, on: context)
        return self.registration(of: member)
    }

    func add(
        _ fresh: Member<State>,
        representing object: AnyObject,
        on context: any ExecutionContext
    ) -> Registration {
        let identity = context.identity
        let (member, lane) = self.holder.withLock { holder -> (Member<State>, Lane<State>) in
            let lane = self.lane(for: context, identity, in: &holder)
            if let present = lane.member(representing: object) { return (present, lane) }
            holder.add(fresh, to: lane)
            return (fresh, lane)
        }
        if member === fresh { self.begin(member, on: lane) }
        return self.registration(of: member)
    }

    /// Registers `member` atomically with the returned snapshot: it hears what follows.
    func register(
        _ member: Member<State>,
        on context: any ExecutionContext
    ) -> (lane: Lane<State>, snapshot: Snapshot<State>) {
        let identity = context.identity
        let (lane, snapshot) = self.holder.withLock { holder in
            let lane = self.lane(for: context, identity, in: &holder)
            holder.add(member, to: lane)
            if let voter = member as? VoterMember<State> { holder.gate.voterCame(voter) }
            return (lane, holder.snapshot)
        }
        self.begin(member, on: lane)
        return (lane, snapshot)
    }

    /// Tells the member about the state that it begins with, if it wants that: nothing has been
    /// appended that would wake the lane.
    private func begin(_ member: Member<State>, on lane: Lane<State>) {
        member.placed(in: lane)
        switch member.start {
        case .next: break
        case .current: lane.begin(member)
        }
    }

    func registration(of member: Member<State>) -> Registration {
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
            giveKept: { [weak member] given in
                guard let member else { return given() }
                member.flush(then: given)
            }
        )
    }

    /// Ends the member's registration, under no lock.
    func end(_ member: Member<State>) {
        member.cancel()
        self.remove(member)
    }

    private func remove(_ member: Member<State>) {
        let (ballot, left) = self.holder.withLock { holder -> (Ballot<State>?, Lane<State>?) in
            let left = holder.remove(member)
            guard let voter = member as? VoterMember<State> else { return (nil, left) }
            return (holder.gate.voterWent(voter), left)
        }
        left?.leave()
        ballot?.release(ObjectIdentifier(member))
    }

    /// Ends the registrations of a lane's members that are gone; checked under no lock.
    private func sweep(_ lane: Lane<State>) {
        for member in lane.allMembers() where member.isGone { self.end(member) }
    }

    /// The lane of that context; `.immediate` stays last, so that all others are awake before the
    /// setting thread begins to deliver.
    private func lane(
        for context: any ExecutionContext,
        _ identity: ObjectIdentifier,
        in holder: inout Holder
    ) -> Lane<State> {
        if let lane = holder.places[identity] { return lane }
        let lane = Lane<State>(
            context: context,
            identity: identity,
            after: holder.tail,
            limit: self.options.laneLimit,
            sleepers: self.sleepers,
            code: self.code
        ) { [weak self] lane in self?.sweep(lane) }
        self.sleepers.comes()
        holder.places[identity] = lane
        holder.insert(lane)
        return lane
    }
}

extension StateMachine.Holder {
    fileprivate func add(_ member: Member<State>, to lane: Lane<State>) {
        member.begin(at: lane.identity, after: self.tail.position, at: self.snapshot)
        lane.add(member)
    }

    /// The member's lane, if it is empty now: it no longer counts, and is released after the lock.
    fileprivate mutating func remove(_ member: Member<State>) -> Lane<State>? {
        guard
            let place = member.place, let lane = self.places[place],
            lane.remove(member)
        else { return nil }
        lane.retire(after: self.tail.position)
        self.places[place] = nil
        self.remove(lane)
        return lane
    }

    fileprivate mutating func insert(_ lane: Lane<State>) {
        lane.index = self.lanes.count
        self.lanes.append(lane)
        if lane.index > 0, self.lanes[lane.index - 1].context is ImmediateContext {
            self.swapLanes(lane.index - 1, lane.index)
        }
    }

    private mutating func remove(_ lane: Lane<State>) {
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
