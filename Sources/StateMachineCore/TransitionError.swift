/// Why a state was not assigned. Nothing has changed when it is thrown.
public enum TransitionError<State: MachineState>: Error, Hashable {
    /// The current state may not be followed by the proposed one, only by those allowed.
    case illegal(current: Snapshot<State>, allowed: Set<State.Name>)
    /// The machine was not where the proposer expected it to be.
    case conflict(current: Snapshot<State>)
}
