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

/// One voter's no.
public struct Denial: Hashable, Sendable {
    /// What the voter was called when it was added.
    public let label: String
    /// On whose behalf it votes, if not the process itself.
    public let peer: Peer?
    /// Its reason; `timeout` if its silence counted as a no.
    public let why: String

    /// A no with that reason.
    public init(label: String, peer: Peer? = nil, why: String) {
        self.label = label
        self.peer = peer
        self.why = why
    }

    /// What a question is answered with when the task that asked it has been cancelled.
    public static let withdrawn = Denial(label: "asker", why: "withdrawn")
}
