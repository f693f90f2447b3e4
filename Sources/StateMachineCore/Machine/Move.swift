/// What a move does if the state is as expected.
package enum MoveKind: Sendable {
    /// Nothing happens if the state is the same; another one is entered, and a new stay begins.
    case set
    /// Even the same state is entered, and a new stay begins.
    case enter
    /// Nothing happens if the state is the same; the stay goes on.
    case update
}

/// A request to a machine: which state it is to enter, and on what condition.
package struct Move: Sendable {
    /// Which state.
    package enum Target: Sendable {
        /// That one, if it may follow the current one.
        case state(Value)
        /// The state that the function makes of the current one at the move's turn; it need not be
        /// one that may follow. With nil nothing changes. It is pure, and may be called again.
        case made(@Sendable (Place) -> Value?)
        /// The same, if it may follow the current one.
        case event(@Sendable (Value) -> Value?)
        /// The current one as another declaration has it, before everything that has not been decided: it is
        /// replaced, and a change is made only if it looks different. With nil it is refused. It is pure, and
        /// may be called again.
        case recast(@Sendable (Place) -> (value: Value, looksSame: Bool)?)
    }

    /// What has to hold for the state that is replaced.
    package enum Condition: Sendable {
        /// Nothing.
        case none
        /// The machine is at that seq.
        case seq(UInt64)
        /// The machine is in the stay that began with that seq.
        case stay(UInt64)
        /// What the function says; it is pure, and may be called again if another thread was
        /// faster.
        case holds(@Sendable (Place) -> Bool)

        /// That seq; with nil nothing.
        package init(seq: UInt64?) { self = seq.map { .seq($0) } ?? .none }

        func isMet(by base: Place) -> Bool {
            switch self {
            case .none: true
            case .seq(let seq): base.seq == seq
            case .stay(let stay): base.stay == stay
            case .holds(let isExpected): isExpected(base)
            }
        }
    }

    let target: Target
    let condition: Condition
    let kind: MoveKind
    /// Why, carried by the change.
    let cause: String?
    /// Who sets, if not the process itself.
    let setter: Peer?

    package init(
        to target: Target,
        if condition: Condition = .none,
        as kind: MoveKind = .set,
        cause: String? = nil,
        by setter: Peer? = nil
    ) {
        self.target = target
        self.condition = condition
        self.kind = kind
        self.cause = cause
        self.setter = setter
    }

    package init(
        to new: Value,
        if condition: Condition = .none,
        reenter: Bool = false,
        cause: String? = nil,
        by setter: Peer? = nil
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
    func state(
        from base: Place,
        announcingEqual announcesEqual: Bool
    ) throws(Refused) -> Value? {
        guard self.condition.isMet(by: base) else {
            throw Refused(.conflict, current: base)
        }
        switch self.target {
        case .state(let new): return try self.followed(base, by: new, announcesEqual)
        case .event(let next):
            guard let new = next(base.value) else { return nil }
            return try self.followed(base, by: new, announcesEqual)
        case .made(let make):
            guard let new = make(base) else { return nil }
            return !base.value.equals(new) || self.repeats(announcesEqual) ? new : nil
        case .recast(let make):
            guard let (new, _) = make(base) else { throw Refused(.illegal, current: base) }
            return new
        }
    }

    /// The state, if it may follow; nil if it is the same and nothing is to change.
    private func followed(
        _ base: Place,
        by new: Value,
        _ announcesEqual: Bool
    ) throws(Refused) -> Value? {
        if base.value.equals(new) {
            // A state may always be entered again from itself.
            return self.repeats(announcesEqual) ? new : nil
        }
        guard base.value.mayBecome(new) else {
            throw Refused(.illegal, current: base)
        }
        return new
    }

    /// Whether even the current state makes a change.
    private func repeats(_ announcesEqual: Bool) -> Bool {
        switch (self.kind, announcesEqual) {
        case (.enter, _), (.set, true): true
        case (.set, false), (.update, _): false
        }
    }

    /// The change of a machine at `base` into that state.
    ///
    /// The time is read after the base, so a later seq never has an earlier reading.
    func change(from base: Place, to new: Value) -> Change {
        Change(
            seq: base.seq + 1,
            old: base.value,
            new: new,
            at: .now,
            cause: self.cause,
            setter: self.setter,
            stay: self.stay(from: base)
        )
    }

    /// The machine's stay after the move from `base`.
    private func stay(from base: Place) -> UInt64 {
        switch self.kind {
        case .set, .enter: base.seq + 1
        case .update: base.stay
        }
    }

    /// The move as put to voters.
    func motion(to new: Value, at base: Place) -> Motion {
        Motion(current: base, proposed: new, cause: self.cause, by: self.setter)
    }

    /// What became of a move that was not refused.
    package enum Outcome: Sendable {
        case committed(Change)
        /// The machine was in that state already; nothing happened.
        case unchanged(Place)

        /// Where the machine was then.
        package var place: Place {
            switch self {
            case .committed(let change): change.place
            case .unchanged(let place): place
            }
        }
    }

    /// What became of a move.
    package typealias Answer = Result<Outcome, Refused>
}
