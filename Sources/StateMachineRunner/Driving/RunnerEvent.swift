import StateMachineClient

/// What the loop of a runner is told.
///
/// They wait in one stream, which is bounded by who tells: a line at a time, one command, one answer, one
/// alarm, and signals, which people send.
enum RunnerEvent: Sendable {
    case line(Line)
    /// There is a connection, to a daemon whose machine that file declares; nil if no file does.
    case connected(declaration: String?)
    case disconnected(ClientError, attempt: Int)
    /// There will be no more lines.
    case gaveUp(any Error)
    case ended(CommandName, CommandEnd?)
    case failed(CommandName, CommandHostError, isStart: Bool)
    case stopped(CommandName, CommandEnd?)
    case told(Answer, stay: UInt64)
    case woke(Int)
    case signal(RunnerSignal)
    /// The file is to be read again, for it was not what the daemon has.
    case rereadDue
    /// What is known is to be put on the disk, which failed before or was not urgent.
    case recordDue
}
