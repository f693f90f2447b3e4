import Glibc
import StateMachineHistory
package import StateMachineServer

extension DaemonError {
    /// Whatever keeps the daemon from starting, as it is reported to the service manager.
    package init(_ error: any Error) {
        switch error {
        case let error as DaemonError: self = error
        case let error as ConfigurationError:
            self.init(
                error.problems.joined(separator: "; "),
                exitStatus: EX_CONFIG,
                errno: error.errno
            )
        case let error as HistoryError:
            self.init(
                error.description,
                exitStatus: error.isLasting ? EX_CONFIG : EXIT_FAILURE,
                errno: error.errno
            )
        default: self.init("\(error)")
        }
    }
}
