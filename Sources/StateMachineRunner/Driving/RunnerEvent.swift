import StateMachineClient

/// The events of a runner's loop.
///
/// They wait in one stream, which is bounded by its sources: one line at a time, one command, one
/// answer, one alarm, and signals, which people send.
enum RunnerEvent: Sendable {
    case line(Line)
    /// There is a connection; the daemon's declaration has that hash, nil if no file declares it.
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
    /// The record is to be written, which failed before or was not urgent.
    case recordDue
}
