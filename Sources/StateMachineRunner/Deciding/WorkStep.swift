import StateMachineDeclaration

/// What is next for the run of a stay, or for the hooks of a change.
enum WorkStep {
    /// Begin a command; with `afresh` the host may have the last attempt's end, to be forgotten.
    case begin(CommandOrder, afresh: Bool)
    /// Wait for the end of a command that was begun.
    case await(CommandName)
    /// Do nothing for that long.
    case pause(Duration)
    /// Tell the daemon about that end.
    case tell(RunEnd)
    /// Nothing may be begun at the moment.
    case blocked
    /// There is nothing left to do.
    case done
}
