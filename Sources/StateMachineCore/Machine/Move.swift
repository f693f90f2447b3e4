/// A request to a machine: which state it is to enter, and on what condition.
package struct Move: Sendable {
    /// Which state.
    package enum Target: Sendable {
        /// That one, if it may follow the current one, and as it is entered where a declaration is in force.
        case state(Value, through: Entrance?)
        /// What the function makes of the current one at the move's turn; a state that it makes need not
        /// be one that may follow. It is pure, and may be called again. With where it is noted that a deadline begins
        /// anew; nil if it never makes one do so.
        case made(@Sendable (Place) throws(Refused) -> Made, renewingIn: StayStarts? = nil)
        /// The current one as another declaration has it, before everything that has not been decided: it is
        /// replaced, and a change is made only if it looks different. It is pure, and may be called again.
        case recast(@Sendable (Place) throws(Refused) -> (value: Value, looksSame: Bool))
    }

    /// How a state that is asked for is entered; both functions may be called again.
    package final class Entrance: Sendable {
        /// Makes of it what it is by the declaration in force there, for whoever asks.
        let restate: @Sendable (Value, Place, Origin?) throws(Refused) -> Value
        /// Refuses one that is to be entered, and may be set, but requires what is not so.
        let admit: @Sendable (Value, Place) throws(Refused) -> Void

        package init(
            restating restate: @escaping @Sendable (Value, Place, Origin?) throws(Refused) -> Value,
            admitting admit: @escaping @Sendable (Value, Place) throws(Refused) -> Void
        ) {
            (self.restate, self.admit) = (restate, admit)
        }
    }

    /// What is to happen where the machine stands at the move's turn.
    package enum Made: Sendable {
        /// That state is entered, and a new stay begins.
        case enter(Value)
        /// What the state carries changes; the stay goes on.
        case keep(Value)
        /// The times of the stay begin anew: the state, which looks the same, knows that. With the changes from which
        /// times of groups count, which go on.
        case renew(Value, groups: [UInt64])
        /// A time has passed, and nothing happens: the state, which looks the same, knows that.
        case pass(Value)
        case nothing(NoChange)

        /// Where it leads, and whether a new stay begins there; nil if nowhere.
        var entered: (value: Value, beginsStay: Bool)? {
            switch self {
            case .enter(let value): (value, true)
            case .keep(let value): (value, false)
            case .renew, .pass, .nothing: nil
            }
        }
    }

    /// Why nothing changes.
    package enum NoChange: Sendable {
        /// The state is as it was asked for, or takes what it was sent without a change.
        case same
        /// The same, and its deadline begins anew.
        case renewed
        /// The state does not take what it was sent.
        case unhandled
    }

    let target: Target
    let condition: Condition
    /// Whether even the identical state is entered, if a state is set.
    let reenter: Bool
    /// Who asks for it, and why, carried by the change; nil for the process itself, without a word.
    let origin: Origin?

    package init(
        to target: Target,
        if condition: Condition = .none,
        reenter: Bool = false,
        from origin: Origin?
    ) {
        self.target = target
        self.condition = condition
        self.reenter = reenter
        self.origin = origin
    }

    package init(
        to target: Target,
        if condition: Condition = .none,
        reenter: Bool = false,
        cause: String? = nil,
        by setter: Peer? = nil
    ) {
        self.init(
            to: target,
            if: condition,
            reenter: reenter,
            from: .of(setter, because: cause)
        )
    }

    package init(
        to new: Value,
        if condition: Condition = .none,
        reenter: Bool = false,
        cause: String? = nil,
        by setter: Peer? = nil
    ) {
        self.init(
            to: .state(new, through: nil),
            if: condition,
            reenter: reenter,
            cause: cause,
            by: setter
        )
    }

    /// Where it is noted that a deadline begins anew; nil if it never makes one do so.
    var starts: StayStarts? {
        if case .made(_, let starts) = self.target { starts } else { nil }
    }

    /// Why, carried by the change.
    var cause: String? { self.origin?.cause }
    /// Who sets, if not the process itself.
    package var setter: Peer? { self.origin?.peer }

    /// The same move, which passes over those voters.
    func passing(over voters: [VoterMember]) -> Move {
        Move(
            to: self.target,
            if: self.condition,
            reenter: self.reenter,
            from: self.origin?.passing(over: voters)
        )
    }

    /// Whether no voter is asked.
    var isForced: Bool { self.origin?.isForced ?? false }

    /// What is to happen to a machine at `base`.
    func made(from base: Place, announcingEqual: Bool) throws(Refused) -> Made {
        switch self.target {
        case .state(let wanted, let entrance):
            var new = consume wanted
            // Who may not ask is not told whether what it expects holds.
            if let entrance { new = try entrance.restate(new, base, self.origin) }
            try self.checkCondition(at: base)
            let isSame = base.value.equals(new)
            guard isSame || base.value.mayBecome(new) else {
                throw Refused(.illegal, current: base, proposed: new)
            }
            guard isSame, !self.reenter else {
                if let entrance { try entrance.admit(new, base) }
                return .enter(new)
            }
            return announcingEqual ? .keep(new) : .nothing(.same)
        case .made(let make, _):
            try self.checkCondition(at: base)
            let made = try make(base)
            guard case .keep(let new) = made, base.value.equals(new) else { return made }
            return .nothing(.same)
        case .recast(let make):
            try self.checkCondition(at: base)
            return .keep(try make(base).value)
        }
    }

    private func checkCondition(at base: Place) throws(Refused) {
        guard self.condition.isMet(by: base) else { throw Refused(.conflict, current: base) }
    }

    /// The change of a machine at `base` into that state.
    ///
    /// The time is read after the base, so a later seq never has an earlier reading.
    func change(
        from base: consuming Place,
        to new: consuming Value,
        at time: WallTime = .now,
        beginsStay: Bool
    ) -> Change {
        Change(
            seq: base.seq + 1,
            old: base.value,
            new: new,
            at: time,
            from: self.origin,
            stay: beginsStay ? base.seq + 1 : base.stay,
            renewals: beginsStay ? 0 : base.renewals
        )
    }

    /// The move as put to voters.
    func motion(to new: Value, beginsStay: Bool, at base: Place) -> Motion {
        Motion(from: base, to: new, beginsStay: beginsStay, by: self.origin)
    }

    /// What became of a move that was not refused.
    package enum Outcome: Sendable {
        case committed(Change)
        /// Nothing happened.
        case unchanged(Place, NoChange)

        /// Where the machine was then.
        package var place: Place {
            switch self {
            case .committed(let change): change.place
            case .unchanged(let place, _): place
            }
        }
    }

    /// What became of a move.
    package typealias Answer = Result<Outcome, Refused>
}

extension Place {
    /// That state, if it may be set here; a state may always be set again from itself.
    ///
    /// - Throws: ``Refusal/illegal``.
    package func following(_ new: Value) throws(Refused) -> Value {
        guard self.value.equals(new) || self.value.mayBecome(new) else {
            throw Refused(.illegal, current: self, proposed: new)
        }
        return new
    }
}
