/// Why a state was not assigned.
public enum Refusal: Hashable, Sendable {
    /// It may not follow the current state; ``TransitionError/allowed`` says what may.
    case illegal
    /// The machine was not where the proposer expected it to be.
    case conflict
    /// Voters said no.
    case denied(by: [Vote.Denial])
    /// While voters were asked the state was assigned past the gate; what they voted on is gone.
    case stale
    /// The write-ahead log could not commit it, and says why.
    case notCommitted(why: String)
    /// More proposals wait their turn than the machine takes.
    case overloaded
    /// A straight call cannot decide it: a voter, the log or an earlier proposal has to be waited for.
    case wouldWait
    /// The task that waited for it was cancelled in time.
    case withdrawn
}
