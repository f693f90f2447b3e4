import StateMachineDeclaration

/// What is next for the run of a stay, or for the hooks of a change.
enum WorkStep {
    /// A command is to be begun; the host may still have the end of its last attempt, which is forgotten.
    case begin(CommandOrder, afresh: Bool)
    /// The end of a command that was begun is to be waited for.
    case await(CommandName)
    /// Nothing, for so long.
    case pause(Duration)
    /// The daemon is to be told of that end.
    case tell(RunEnd)
    /// Nothing may be begun at the moment.
    case blocked
    /// There is nothing to do any more.
    case done
}
