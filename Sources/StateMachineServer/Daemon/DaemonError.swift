public import Glibc
package import Logging
import ServiceLog
import Systemd

/// Why the daemon does not start, in one sentence that says what to do.
public struct DaemonError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// The status that the process should exit with.
    ///
    /// 78 (`EX_CONFIG` of sysexits.h) if it would fail the same way again until somebody changes how it
    /// is set up, so that a unit can say `RestartPreventExitStatus=78`; else 1.
    public let exitStatus: Int32

    /// The error number of the system call that failed, if one did.
    let errno: CInt?

    /// An error with that sentence, for a program that exits with that status.
    public init(_ description: String, exitStatus: Int32 = EXIT_FAILURE) {
        self.init(description, exitStatus: exitStatus, errno: nil)
    }

    /// An error with that sentence, which already includes `errno` if a system call failed.
    package init(_ description: String, exitStatus: CInt = EXIT_FAILURE, errno: CInt?) {
        self.description = description
        self.exitStatus = exitStatus
        self.errno = errno
    }

    /// A configuration that cannot work.
    init(configuration description: String) {
        self.init(description, exitStatus: EX_CONFIG)
    }

    /// A system call that failed, with the words for its error number.
    init(cannot action: String, errno code: CInt) {
        self.init("cannot \(action): \(SystemError.text(of: code))", errno: code)
    }

    /// Tells the service manager, so that `systemctl status` shows the sentence.
    ///
    /// Waits for the manager to take it, but not for ever.
    ///
    /// - Parameter logger: gets a warning if the manager cannot be told.
    package func tell(
        _ logger: Logger = .service(label: "statemachine", threshold: LogThreshold(.info))
    ) async {
        await ServiceManager(logger: logger).tell("failed") { notifier in
            try notifier.failed(self.description, errno: self.errno, exitStatus: self.exitStatus)
        }
    }
}
