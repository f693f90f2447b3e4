package import StateMachineDeclaration
package import StateMachineProtocol

/// What is to be done because of something that has happened, in this order.
package enum Action: Sendable {
    /// Write what is known to the disk before anything that follows is done.
    case record
    /// Write what is known to the disk some time soon.
    case recordSoon
    /// Start a command, unless it exists, and report its end; `afresh` forgets the end of an
    /// earlier attempt first.
    case begin(CommandOrder, afresh: Bool)
    /// Report the end of a command that exists.
    case await(CommandName)
    /// Stop a command, and report how it ended.
    case stop(CommandName)
    /// Forget the end of a command, which is not needed any more.
    case forget(CommandName)
    /// Tell the daemon how the run of that stay has ended.
    case tell(RunEnd, stay: UInt64)
    /// Report the number after that time; an earlier alarm is dropped.
    case wake(Int, after: Duration)
    /// Tell the log and the counters.
    case note(Notice)
    /// There is nothing more to do in this process.
    case finish
}

/// What the daemon made of the end of a run.
package enum Answer: Hashable, Sendable {
    /// It leads somewhere.
    case taken
    /// Nothing is declared of such an end.
    case unhandled
    /// The stay has ended.
    case late
    /// It was refused, or the disk refuses; it may be taken later.
    case refused(ErrorCode, message: String)
    /// The daemon could not be asked.
    case lost(String)
}

/// What the log and the counters are told.
package enum Notice: Hashable, Sendable {
    case begun(CommandName, attempt: Int)
    /// `isFailure`: it was neither an exit with 0, nor a stop, nor an exit that the file declares.
    case ended(CommandName, CommandEnd, attempt: Int, isFailure: Bool)
    case triedAgain(CommandName, after: Duration)
    /// It was stopped by somebody else, or by a stop of the machine.
    case interrupted(CommandName)
    /// It does not exist, though it was begun and nobody here has ended it.
    case vanished(CommandName)
    /// It could not be started or asked about.
    case trouble(CommandName, String, retryingIn: Duration)
    /// Nothing is declared of that end; the stay goes on.
    case unhandled(CommandName, RunEnd)
    /// The daemon does not take the end of a run.
    case refused(CommandName, ErrorCode, String, retryingIn: Duration)
    /// The daemon could not be told.
    case untold(CommandName, String, retryingIn: Duration)
    /// Hooks between two states are unknown; the number is how many changes, if that is known.
    case hooksUnknown(UInt64?, from: String, to: String)
    /// The file does not know the state of an old change.
    case stateUnknown(String)
    /// The file and what the daemon has are different, or the same again.
    case differs
    case agrees
    /// Nothing is declared to be run any more.
    case nothingToRun
}
