extension StateMachine {
    /// Tells `delegate` of every transition from now on, on `context`, in order.
    ///
    /// Adding the same delegate on the same context again returns a registration of the same place:
    /// it is still told once.
    ///
    /// - Parameters:
    ///   - delegate: who is told.
    ///   - context: where.
    ///   - holding: whether the machine keeps the delegate alive.
    @discardableResult
    public func addDelegate(
        _ delegate: some StateDelegate<State>,
        on context: any ExecutionContext = .immediate,
        holding: Holding = .weak
    ) -> Registration {
        let fresh = DelegateMember(delegate, holding: holding)
        let member = self.holder.withLock { holder -> Member<State> in
            let lane = holder.lane(for: context)
            if let present = lane.member(where: { $0.represents(delegate) }) { return present }
            holder.add(fresh, to: lane)
            return fresh
        }
        return self.registration(of: member)
    }

    /// Registers `member`, in one cut with the snapshot that is returned: it hears what follows.
    func register(
        _ member: Member<State>,
        on context: any ExecutionContext
    ) -> (lane: Lane<State>, snapshot: Snapshot<State>) {
        self.holder.withLock { holder in
            let lane = holder.lane(for: context)
            holder.add(member, to: lane)
            return (lane, holder.snapshot)
        }
    }

    func registration(of member: Member<State>) -> Registration {
        Registration { [weak self] in
            member.cancel()
            self?.holder.withLock { holder in
                holder.lanes.removeAll { $0.remove(member) }
            }
        }
    }
}

extension StateMachine.Holder {
    /// The lane of that context; `.immediate` stays last, so that all others are awake before the
    /// setting thread begins to tell.
    fileprivate mutating func lane(for context: any ExecutionContext) -> Lane<State> {
        if let lane = self.lanes.first(where: { $0.context.identity == context.identity }) {
            return lane
        }
        let lane = Lane(context: context, after: self.tail)
        let isImmediateLast = self.lanes.last?.context is ImmediateContext
        self.lanes.insert(lane, at: isImmediateLast ? self.lanes.count - 1 : self.lanes.count)
        return lane
    }

    fileprivate func add(_ member: Member<State>, to lane: Lane<State>) {
        member.begin(after: self.seq)
        lane.add(member)
    }
}
