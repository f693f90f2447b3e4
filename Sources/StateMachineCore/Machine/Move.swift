/// What a move does if the state is as expected.
@usableFromInline
package enum MoveKind: Sendable {
    /// Nothing happens if the state is the same; another one is entered, and a new stay begins.
    case set
    /// Even the same state is entered, and a new stay begins.
    case enter
    /// Nothing happens if the state is the same; the stay goes on.
    case update
}

/// A request to a machine: which state it is to enter, and on what condition.
@usableFromInline
package struct Move<State: MachineState>: Sendable {
    /// Which state.
    @usableFromInline
    package enum Target: Sendable {
        /// That one, if it may follow the current one.
        case state(State)
        /// The state that the function makes of the current one at the move's turn; it need not be
        /// one that may follow. With nil nothing changes. It is pure, and may be called again.
        case made(@Sendable (Snapshot<State>) -> State?)
        /// The same, if it may follow the current one.
        case event(@Sendable (State) -> State?)
    }

    /// What has to hold for the state that is replaced.
    @usableFromInline
    package enum Condition: Sendable {
        /// Nothing.
        case none
        /// The machine is at that seq.
        case seq(UInt64)
        /// The machine is in the stay that began with that seq.
        case stay(UInt64)
        /// What the function says; it is pure, and may be called again if another thread was
        /// faster.
        case holds(@Sendable (Snapshot<State>) -> Bool)

        /// That seq; with nil nothing.
        @inlinable
        package init(seq: UInt64?) { self = seq.map { .seq($0) } ?? .none }

        /// What the function says; with nil nothing.
        @inlinable
        init(_ isExpected: (@Sendable (Snapshot<State>) -> Bool)?) {
            self = isExpected.map { .holds($0) } ?? .none
        }

        @inlinable
        func isMet(by base: Snapshot<State>) -> Bool {
            switch self {
            case .none: true
            case .seq(let seq): base.seq == seq
            case .stay(let stay): base.stay == stay
            case .holds(let isExpected): isExpected(base)
            }
        }
    }

    @usableFromInline let target: Target
    @usableFromInline let condition: Condition
    @usableFromInline let kind: MoveKind
    /// Why, carried by the transition.
    @usableFromInline let cause: String?
    /// Who sets, if not the process itself.
    @usableFromInline let setter: CompactPeer?

    @inlinable
    package init(
        to target: Target,
        if condition: Condition = .none,
        as kind: MoveKind = .set,
        cause: String? = nil,
        by setter: CompactPeer? = nil
    ) {
        self.target = target
        self.condition = condition
        self.kind = kind
        self.cause = cause
        self.setter = setter
    }

    @inlinable
    package init(
        to new: State,
        if condition: Condition = .none,
        reenter: Bool = false,
        cause: String? = nil,
        by setter: CompactPeer? = nil
    ) {
        self.init(
            to: .state(new),
            if: condition,
            as: reenter ? .enter : .set,
            cause: cause,
            by: setter
        )
    }

    /// The state that a machine at `base` is to be in; nil if nothing is to change.
    @inlinable
    func state(
        from base: Snapshot<State>,
        announcingEqual announcesEqual: Bool
    ) throws(TransitionError<State>) -> State? {
        guard self.condition.isMet(by: base) else {
            throw TransitionError(.conflict, current: base)
        }
        switch self.target {
        case .state(let new): return try self.followed(base, by: new, announcesEqual)
        case .event(let next):
            guard let new = next(base.state) else { return nil }
            return try self.followed(base, by: new, announcesEqual)
        case .made(let make):
            guard let new = make(base) else { return nil }
            return base.state != new || self.repeats(announcesEqual) ? new : nil
        }
    }

    /// The state, if it may follow; nil if it is the same and nothing is to change.
    @inlinable
    @inline(__always)
    func followed(
        _ base: Snapshot<State>,
        by new: State,
        _ announcesEqual: Bool
    ) throws(TransitionError<State>) -> State? {
        if base.state == new {
            // A state may always be entered again from itself.
            return self.repeats(announcesEqual) ? new : nil
        }
        guard base.state.mayBecome(new) else {
            throw TransitionError(.illegal, current: base)
        }
        return new
    }

    /// Whether even the current state makes a transition.
    @inlinable
    func repeats(_ announcesEqual: Bool) -> Bool {
        switch (self.kind, announcesEqual) {
        case (.enter, _), (.set, true): true
        case (.set, false), (.update, _): false
        }
    }

    /// The transition of a machine at `base` into that state.
    ///
    /// The time is read after the base, so a later seq never has an earlier reading.
    @inlinable
    func transition(from base: Snapshot<State>, to new: State) -> Transition<State> {
        self.transition(
            from: base,
            to: new,
            TransitionMark(seq: base.seq + 1, at: .now, stay: self.stay(from: base))
        )
    }

    /// The same, with the mark of one that was made.
    @inlinable
    func transition(
        from base: Snapshot<State>,
        to new: State,
        _ mark: TransitionMark
    ) -> Transition<State> {
        Transition(
            seq: mark.seq,
            old: base.state,
            new: new,
            at: mark.at,
            cause: self.cause,
            setter: self.setter,
            stay: mark.stay
        )
    }

    /// The machine's stay after the move from `base`.
    @inlinable
    func stay(from base: Snapshot<State>) -> UInt64 {
        switch self.kind {
        case .set, .enter: base.seq + 1
        case .update: base.stay
        }
    }

    /// The move as put to voters.
    func proposal(of new: State, at base: Snapshot<State>) -> Proposal<State> {
        Proposal(current: base, proposed: new, cause: self.cause, by: self.setter?.peer)
    }
}

/// What became of a move.
///
/// Without the transition's states, which the caller has: copying them would be a tenth of a set's
/// cost.
@usableFromInline
package enum MoveOutcome<State: MachineState>: Sendable {
    case committed(TransitionMark)
    /// The machine was in that state already; nothing happened.
    ///
    /// Indirect like the next case, so that the outcome has one size whatever the states are.
    indirect case unchanged(Snapshot<State>)
    indirect case refused(TransitionError<State>)

    @inlinable
    init(_ answer: Gate<State>.Answer) {
        switch answer {
        case .success(.committed(let transition)): self = .committed(transition.mark)
        case .success(.unchanged(let snapshot)): self = .unchanged(snapshot)
        case .failure(let error): self = .refused(error)
        }
    }
}
