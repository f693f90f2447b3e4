/// A state was not assigned.
///
/// Nothing has changed when it is thrown.
public struct TransitionError<State: MachineState>: Error, Equatable {
    /// Why.
    public let reason: Refusal
    /// Where the machine was when it was decided.
    public let current: Snapshot<State>

    /// A refusal of a machine that was there.
    @inlinable
    public init(_ reason: Refusal, current: Snapshot<State>) {
        self.reason = reason
        self.current = current
    }

    /// The states that may follow the current one, whatever the reason; it explains
    /// ``Refusal/illegal``.
    public var allowed: Set<State.Name> { self.current.state.successors }
}

extension TransitionError: CustomStringConvertible {
    /// Why, in one sentence: where the machine is, and what the rule allows there.
    public var description: String {
        let current = self.current
        switch self.reason {
        case .illegal:
            let names = self.allowed.map(\.rawValue).sorted().joined(separator: ", ")
            let rest = names.isEmpty ? "nothing may" : "allowed: \(names)"
            return "it may not follow \(current.state); \(rest)"
        case .conflict:
            return
                "the machine is not where it was expected to be, but in \(current.state), seq \(current.seq)"
        case .denied(let denials):
            return denials.isEmpty
                ? "nobody agreed" : denials.map { "\($0.label): \($0.why)" }.joined(separator: "; ")
        case .stale:
            return
                "while voters were asked the machine went to \(current.state), seq \(current.seq)"
        case .notCommitted(let why): return "it could not be written down: \(why)"
        case .overloaded: return "too many proposals wait their turn"
        case .wouldWait: return "it could not be decided without waiting"
        case .withdrawn: return "it was withdrawn"
        }
    }
}
