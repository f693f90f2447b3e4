import Glibc
import Processes

/// An end of this process that something else determines.
enum ProcessEnd: Error, Equatable {
    /// With the status of the command that it ran.
    case status(Int32)
    /// By a signal that it has received.
    case signal(CInt)

    /// Ends this process.
    func perform() -> Never {
        switch self {
        case .status(let code): Glibc.exit(code)
        case .signal(let number): Signals.end(by: number)
        }
    }
}
