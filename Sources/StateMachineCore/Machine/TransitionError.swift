/// Why a state was not assigned.
///
/// Nothing has changed when it is thrown.
public enum TransitionError<State: MachineState>: Error, Equatable {
    /// The current state may not be followed by the proposed one, only by those allowed.
    case illegal(current: Snapshot<State>, allowed: Set<State.Name>)
    /// The machine was not where the proposer expected it to be.
    case conflict(current: Snapshot<State>)
    /// Voters said no.
    case denied(by: [Denial], current: Snapshot<State>)
    /// While voters were asked the state was assigned past the gate; what they voted on is gone.
    case stale(current: Snapshot<State>)
    /// The write-ahead log could not commit it, and says why.
    case notCommitted(why: String, current: Snapshot<State>)
    /// More proposals wait their turn than the machine takes.
    case overloaded(current: Snapshot<State>)
    /// A straight call cannot decide it: a voter, the log or an earlier proposal has to be waited for.
    case wouldWait(current: Snapshot<State>)
    /// The task that waited for it was cancelled in time.
    case withdrawn(current: Snapshot<State>)
}

extension TransitionError: CustomStringConvertible {
    /// Why, in one sentence: where the machine is, and what the rule allows there.
    public var description: String {
        switch self {
        case .illegal(let current, let allowed):
            let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
            let rest = names.isEmpty ? "nothing may" : "allowed: \(names)"
            return "it may not follow \(current.state); \(rest)"
        case .conflict(let current):
            return
                "the machine is not where it was expected to be, but in \(current.state), seq \(current.seq)"
        case .denied(let denials, _):
            return denials.isEmpty
                ? "nobody agreed" : denials.map { "\($0.label): \($0.why)" }.joined(separator: "; ")
        case .stale(let current):
            return
                "while voters were asked the machine went to \(current.state), seq \(current.seq)"
        case .notCommitted(let why, _): return "it could not be written down: \(why)"
        case .overloaded: return "too many proposals wait their turn"
        case .wouldWait: return "it could not be decided without waiting"
        case .withdrawn: return "it was withdrawn"
        }
    }
}

/// One voter's no.
public struct Denial: Hashable, Sendable {
    /// What the voter was called when it was added.
    public let label: String
    /// On whose behalf it votes, if not the process itself.
    package let peer: Peer?
    /// Its reason, be it that its silence counts as a no.
    public let why: String

    /// A no with that reason.
    package init(label: String, why: String) { self.init(label: label, peer: nil, why: why) }

    package init(label: String, peer: Peer?, why: String) {
        self.label = label
        self.peer = peer
        self.why = why
    }

    /// What a question is answered with when the task that asked it has been cancelled.
    package static let withdrawn = Denial(label: "asker", why: "withdrawn")
}
