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
        let retained = retaining ? delegate : nil
        let tell: @Sendable (Change) -> Bool = { [weak delegate] change in
            // The last reference to it may go here, on the delegate's own context.
            guard let delegate = retained ?? delegate else { return false }
            delegate.stateChanged(Transition(change))
            return true
        }
        let missed: @Sendable (Int, Place) -> Void = { [weak delegate] count, place in
            delegate?.transitionsMissed(count, now: Snapshot(place))
        }
        let identity = ObjectIdentifier(delegate)
        let member =
            delivery.isStraight
            ? CallingMember(
                of: names?.texts,
                starting: start,
                for: delegate,
                representing: identity,
                .init(change: tell, missed: { missed($0, $1.place) })
            )
            : DeliveredMember(
                delivery.ofChanges(),
                by: self.machine.options.clock,
                of: names?.texts,
                starting: start,
                for: delegate,
                representing: identity,
                missed: missed,
                body: { _ = tell($0) }
            )
        return self.machine.add(member, representing: delegate, on: context)
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
        self.add(on: context, of: names, starting: start, delivering: delivery, for: nil) {
            body(Transition($0))
            return true
        }
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
        let retained = retaining ? object : nil
        return self.add(on: context, of: names, starting: start, delivering: delivery, for: object)
        { [weak object] change in
            guard let object = retained ?? object else { return false }
            body(object, Transition(change))
            return true
        }
    }

    /// Adds a closure, while `receiver` lives if there is one.
    private func add(
        on context: any ExecutionContext,
        of names: Set<State.Name>?,
        starting start: Start,
        delivering delivery: Delivery<Transition<State>>,
        for receiver: (any AnyObject & Sendable)?,
        _ tell: @escaping @Sendable (Change) -> Bool
    ) -> Registration {
        let member =
            delivery.isStraight
            ? CallingMember(
                of: names?.texts,
                starting: start,
                for: receiver,
                .init(change: tell)
            )
            : DeliveredMember(
                delivery.ofChanges(),
                by: self.machine.options.clock,
                of: names?.texts,
                starting: start,
                for: receiver,
                body: { _ = tell($0) }
            )
        return self.machine.add(member, on: context)
    }

    /// Ends the registrations of `delegate` on `context`, or everywhere.
    ///
    /// No call begins after this returns.
    public func removeDelegate(
        _ delegate: some StateDelegate<State>,
        on context: (any ExecutionContext)? = nil
    ) {
        self.machine.removeMembers(representing: delegate, on: context?.identity)
    }

    /// How many members would be told if a state of that name were entered now.
    public func responders(to name: State.Name) -> Int {
        self.machine.responders(to: name.rawValue)
    }
}

extension Set where Element: RawRepresentable<String> {
    /// The names as the engine has them.
    var texts: Set<String> { Set<String>(self.map(\.rawValue)) }
}

extension Delivery {
    /// The same delivery, of what the engine delivers.
    func ofChanges<State>() -> Delivery<Change> where Value == Transition<State> {
        let keeping: Delivery<Change>.Keeping =
            switch self.keeping {
            case .all: .all
            case .newest: .newest
            case .newestPer(let key): .newestPer { key(Transition($0)) }
            }
        return Delivery<Change>(keeping: keeping, timing: self.timing, limit: self.limit)
    }
}
