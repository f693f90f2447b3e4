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
    @inlinable
    @discardableResult
    public func addDelegate<Delegate: StateDelegate>(
        _ delegate: Delegate,
        on context: any ExecutionContext = .immediate,
        of names: Set<State.Name>? = nil,
        retaining: Bool = false,
        starting start: Start = .next,
        delivering delivery: Delivery<Transition<State>> = .each
    ) -> Registration where Delegate.State == State {
        // Made here, where the types are known.
        self.add(
            delegate,
            on: context,
            of: names,
            retaining: retaining,
            starting: start,
            delivering: delivery,
            representing: ObjectIdentifier(delegate),
            missed: { delegate, count, place in
                unsafeDowncast(delegate, to: Delegate.self)
                    .transitionsMissed(count, now: Snapshot(place))
            },
            tell: { delegate, entry in
                unsafeDowncast(delegate, to: Delegate.self).stateChanged(Transition(entry.change))
                return true
            }
        )
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
    @inlinable
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
        self.add(nil, on: context, of: names, starting: start, delivering: delivery) { _, entry in
            body(Transition(entry.change))
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
        self.add(
            object,
            on: context,
            of: names,
            retaining: retaining,
            starting: start,
            delivering: delivery
        ) { object, entry in
            body(unsafeDowncast(object, to: Object.self), Transition(entry.change))
            return true
        }
    }

    /// Adds a closure, while `receiver` lives if there is one.
    @usableFromInline
    func add(
        _ receiver: (any AnyObject & Sendable)?,
        on context: any ExecutionContext,
        of names: Set<State.Name>?,
        retaining: Bool = false,
        starting start: Start,
        delivering delivery: Delivery<Transition<State>>,
        representing object: ObjectIdentifier? = nil,
        missed: (@Sendable (AnyObject, Int, Place) -> Void)? = nil,
        tell: @escaping @Sendable (AnyObject, ChangeEntry) -> Bool
    ) -> Registration {
        let terms = Member.Terms(
            names: names?.texts,
            start: start,
            receiver: receiver,
            isRetaining: retaining,
            object: object
        )
        let member = delivery.ofChanges().member(
            for: terms,
            by: self.machine.options.clock,
            missed: missed,
            tell: tell
        )
        guard object != nil, let receiver else { return self.machine.add(member, on: context) }
        return self.machine.add(member, representing: receiver, on: context)
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
