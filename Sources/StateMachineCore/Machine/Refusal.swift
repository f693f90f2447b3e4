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
    /// More proposals wait their turn than the machine takes.
    case overloaded
    /// A call that must not wait cannot decide it: a voter, the log or an earlier proposal is pending.
    case wouldWait
    /// The task that waited for it was cancelled in time.
    case withdrawn
}
