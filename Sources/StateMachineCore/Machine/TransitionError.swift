/// A state was not assigned.
///
/// Nothing has changed when it is thrown.
public struct TransitionError<State: MachineState>: Error {
    /// The same, as the engine has it.
    package let refused: Refused

    package init(_ refused: Refused) { self.refused = refused }

    /// A refusal of a machine that was there.
    public init(_ reason: Refusal, current: Snapshot<State>) {
        self.init(Refused(reason, current: current.place))
    }

    /// Why.
    public var reason: Refusal { self.refused.reason }
    /// Where the machine was when it was decided.
    public var current: Snapshot<State> { Snapshot(self.refused.current) }

    /// The states that may follow the current one, whatever the reason; it explains
    /// ``Refusal/illegal``.
    public var allowed: Set<State.Name> { self.current.state.successors }
}

extension TransitionError: Equatable {
    /// Whether both are the same refusal at the same place.
    public static func == (left: Self, right: Self) -> Bool {
        left.reason == right.reason && left.current == right.current
    }
}

extension TransitionError: CustomStringConvertible {
    /// Why, in one sentence: where the machine is, and what the rule allows there.
    public var description: String { self.refused.description }
}

extension Refused: CustomStringConvertible {
    /// Why, in one sentence: where the machine is, and what the rule allows there.
    package var description: String {
        let (current, state) = (self.current, self.current.value.text)
        switch self.reason {
        case .illegal:
            let names = current.value.successors.sorted()
            let rest =
                names.isEmpty
                ? "nothing may follow it"
                : names == [Value.any]
                    ? "its values decide" : "allowed: \(names.joined(separator: ", "))"
            return "the state may not follow \(state); \(rest)"
        case .conflict:
            return
                "the machine is in \(state), seq \(current.seq), not where it was expected to be"
        case .denied(let denials):
            return denials.isEmpty
                ? "no voter agreed"
                : denials.map { "\($0.label): \($0.why)" }.joined(separator: "; ")
        case .stale:
            return "the machine entered \(state), seq \(current.seq), while voters were being asked"
        case .notCommitted(let why):
            return "the change was not made, as it could not be recorded: \(why)"
        case .unsure(let why):
            return "it is not known whether the change will be made: \(why)"
        case .overloaded: return "too many proposals are pending; try again later"
        case .wouldWait:
            return "the change has to wait for voters or the history, which this call does not"
        case .withdrawn: return "the proposal was withdrawn"
        }
    }
}

/// Why a state was not assigned.
public enum Refusal: Hashable, Sendable {
    /// It may not follow the current state; ``TransitionError/allowed`` says what may.
    case illegal
    /// The machine was not where the proposer expected it to be.
    case conflict
    /// Voters said no.
    case denied(by: [Vote.Denial])
    /// The state was assigned past the gate while voters were asked; what they voted on is gone.
    case stale
    /// The write-ahead log could not commit it, and says why.
    case notCommitted(why: String)
    /// The write-ahead log does not know whether it has committed it, and says why: it has not happened, and may yet.
    case unsure(why: String)
    /// More proposals wait their turn than the machine takes.
    case overloaded
    /// A call that must not wait, or would wait for itself, cannot decide it: a voter, the log or an
    /// earlier proposal is pending.
    case wouldWait
    /// The task that waited for it was cancelled in time.
    case withdrawn
}
