/// What somebody wants of a machine: a state to enter, and on what condition.
@usableFromInline
package struct Move<State: MachineState>: Sendable {
    /// What has to hold of the state that is replaced.
    @usableFromInline
    package enum Condition: Sendable {
        /// Nothing.
        case none
        /// The machine is at that seq.
        case seq(UInt64)
        /// What the function says; it is pure, and may be asked again if another thread was faster.
        case holds(@Sendable (Snapshot<State>) -> Bool)

        /// That seq; with nil nothing.
        @inlinable
        init(seq: UInt64?) { self = seq.map { .seq($0) } ?? .none }

        @inlinable
        func isMet(by base: Snapshot<State>) -> Bool {
            switch self {
            case .none: true
            case .seq(let seq): base.seq == seq
            case .holds(let isExpected): isExpected(base)
            }
        }
    }

    /// The state to enter.
    @usableFromInline let new: State
    @usableFromInline let condition: Condition
    /// Whether even a state equal to the current one makes a transition.
    @usableFromInline let reenter: Bool
    /// Why, carried by the transition.
    @usableFromInline let cause: String?
    /// Who, if not the process itself.
    @usableFromInline let by: Peer?

    @inlinable
    package init(
        to new: State,
        if condition: Condition = .none,
        reenter: Bool = false,
        cause: String? = nil,
        by: Peer? = nil
    ) {
        self.new = new
        self.condition = condition
        self.reenter = reenter
        self.cause = cause
        self.by = by
    }

    /// Whether it makes a transition of a machine at `base`.
    @inlinable
    func changes(
        _ base: Snapshot<State>,
        assigningEqual: StateMachine<State>.Options.Equal
    ) throws(TransitionError<State>) -> Bool {
        guard self.condition.isMet(by: base) else { throw .conflict(current: base) }
        if base.state == self.new {
            // A state may always be entered again from itself.
            switch assigningEqual {
            case .ignored: return self.reenter
            case .announced: return true
            }
        }
        guard base.state.mayBecome(self.new.name) else {
            throw .illegal(current: base, allowed: base.state.successors)
        }
        return true
    }

    /// The transition that it makes of a machine at `base`.
    ///
    /// The time is read after the base, so a later seq never has an earlier reading.
    @inlinable
    func transition(from base: Snapshot<State>) -> Transition<State> {
        Transition(
            seq: base.seq + 1,
            old: base.state,
            new: self.new,
            at: .now,
            cause: self.cause,
            by: self.by
        )
    }

    /// As voters are asked about it.
    func proposal(at base: Snapshot<State>) -> Proposal<State> {
        Proposal(current: base, proposed: self.new, cause: self.cause, by: self.by)
    }
}
