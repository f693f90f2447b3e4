extension StateMachine {
    /// Tells `delegate` of every transition from now on, on `context`, in order.
    ///
    /// Adding the same delegate on the same context again returns a registration of the same place:
    /// it is still told once, and of what it was first added for.
    ///
    /// - Parameters:
    ///   - delegate: who is told.
    ///   - context: where.
    ///   - names: the states that it is told of when they are entered; nil: all.
    ///   - holding: whether the machine keeps the delegate alive.
    ///   - start: whether it is told of the current state first, if that is one of `names`: as a
    ///     transition from that state to itself which has its seq. Nothing lies between it and the
    ///     next one that it hears of. On `.immediate` it has been told when this returns, with the
    ///     exceptions that an assignment has.
    /// - Returns: its place.
    @discardableResult
    public func addDelegate(
        _ delegate: some StateDelegate<State>,
        on context: any ExecutionContext = .immediate,
        of names: Set<State.Name>? = nil,
        holding: Holding = .weak,
        starting start: Start = .next
    ) -> Registration {
        self.add(
            DelegateMember(delegate, of: names, holding: holding, starting: start),
            representing: delegate,
            on: context
        )
    }

    /// Calls `body` with every transition from now on, on `context`, in order.
    ///
    /// - Parameters:
    ///   - context: where.
    ///   - names: the states that it is told of when they are entered; nil: all.
    ///   - start: whether it is told of the current state first, as
    ///     ``addDelegate(_:on:of:holding:starting:)`` has it.
    ///   - body: kept until the registration is cancelled.
    /// - Returns: its place.
    @discardableResult
    public func addObserver(
        on context: any ExecutionContext = .immediate,
        of names: Set<State.Name>? = nil,
        starting start: Start = .next,
        _ body: @escaping @Sendable (Transition<State>) -> Void
    ) -> Registration {
        let member = ObserverMember<State>(of: names, starting: start, body)
        _ = self.register(member, on: context)
        return self.registration(of: member)
    }

    /// Ends the registrations of `delegate` on `context`, or everywhere.
    ///
    /// No call begins after this returns.
    public func removeDelegate(
        _ delegate: some StateDelegate<State>,
        on context: (any ExecutionContext)? = nil
    ) {
        let leaving = self.holder.withLock { holder in
            holder.lanes
                .filter { context == nil || $0.context.identity == context?.identity }
                .flatMap { $0.members { $0.represents(delegate) } }
        }
        for member in leaving { self.end(member) }
    }

    /// How many would be told if a state of that name were entered now.
    public func responders(to name: State.Name) -> Int {
        self.holder.withLock { $0.lanes }
            .flatMap { $0.members() }
            .count { !$0.isGone && !($0 is VoterMember) && $0.names?.contains(name) ?? true }
    }

    func add(
        _ fresh: Member<State>,
        representing object: AnyObject,
        on context: any ExecutionContext
    ) -> Registration {
        let (member, lane) = self.holder.withLock { holder -> (Member<State>, Lane<State>) in
            let lane = self.lane(for: context, in: &holder)
            let present = lane.members { $0.represents(object) && !$0.isCancelled }
            if let present = present.first { return (present, lane) }
            holder.add(fresh, to: lane)
            return (fresh, lane)
        }
        if member === fresh { self.begin(member, on: lane) }
        return self.registration(of: member)
    }

    /// Registers `member`, in one cut with the snapshot that is returned: it hears what follows.
    func register(
        _ member: Member<State>,
        on context: any ExecutionContext
    ) -> (lane: Lane<State>, snapshot: Snapshot<State>) {
        let (lane, snapshot) = self.holder.withLock { holder in
            let lane = self.lane(for: context, in: &holder)
            holder.add(member, to: lane)
            if let voter = member as? VoterMember<State> {
                holder.gate.voters.append(voter)
                holder.gate.votersVersion += 1
            }
            return (lane, holder.snapshot)
        }
        self.begin(member, on: lane)
        return (lane, snapshot)
    }

    /// Has the member told of the state that it begins with, if it wants to be: nothing has been
    /// appended that would wake the lane.
    private func begin(_ member: Member<State>, on lane: Lane<State>) {
        switch member.start {
        case .next: break
        case .current: lane.nudge()
        }
    }

    func registration(of member: Member<State>) -> Registration {
        Registration(
            end: { [weak self] in
                member.cancel()
                self?.end(member)
            },
            endQuietly: { [weak self] quiet in
                member.cancel(quiet: quiet)
                self?.end(member)
            }
        )
    }

    private func end(_ member: Member<State>) {
        member.cancel()
        let (ballot, left) = self.holder.withLock { holder -> (Ballot<State>?, [Lane<State>]) in
            let left = holder.removeMembers { $0 === member }
            guard let voter = member as? VoterMember<State> else { return (nil, left) }
            holder.gate.voters.removeAll { $0 === voter }
            switch holder.gate.poll {
            case .open(let ballot): return (ballot, left)
            case .none, .awaitingQuiet, .decided: return (nil, left)
            }
        }
        for lane in left { lane.leave() }
        ballot?.release(ObjectIdentifier(member))
    }

    /// The lane of that context; `.immediate` stays last, so that all others are awake before the
    /// setting thread begins to tell.
    private func lane(for context: any ExecutionContext, in holder: inout Holder) -> Lane<State> {
        let identity = context.identity
        if let lane = holder.lanes.first(where: { $0.context.identity == identity }) { return lane }
        let lane = Lane<State>(
            context: context,
            after: holder.tail,
            limit: self.options.laneLimit,
            sleepers: self.sleepers
        ) { [weak self] _ in
            let left = self?.holder.withLock { $0.removeMembers { $0.isGone } } ?? []
            for lane in left { lane.leave() }
        }
        self.sleepers.comes()
        let isImmediateLast = holder.lanes.last?.context is ImmediateContext
        holder.lanes.insert(
            lane,
            at: isImmediateLast ? holder.lanes.count - 1 : holder.lanes.count
        )
        return lane
    }
}

extension StateMachine.Holder {
    fileprivate func add(_ member: Member<State>, to lane: Lane<State>) {
        member.begin(after: self.tail.position, at: self.snapshot)
        lane.add(member)
    }

    /// Lanes that nobody is left on do not count any more; they are returned, to be let go of after
    /// the lock.
    fileprivate mutating func removeMembers(
        where isLeaving: (Member<State>) -> Bool
    ) -> [Lane<State>] {
        let position = self.tail.position
        let left = self.lanes.filter { $0.remove(where: isLeaving) }
        for lane in left { lane.retire(after: position) }
        if !left.isEmpty {
            self.lanes.removeAll { lane in left.contains { $0 === lane } }
        }
        return left
    }
}
