public import Glibc
package import Logging
import ServiceLog
import Systemd

/// Why the daemon does not start, in one sentence which says what to do.
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

    /// That sentence, for a program that is to end with that status.
    public init(_ description: String, exitStatus: Int32 = EXIT_FAILURE) {
        self.init(description, exitStatus: exitStatus, errno: nil)
    }

    /// That sentence; `errno` if a system call failed, which the sentence says itself.
    package init(_ description: String, exitStatus: CInt = EXIT_FAILURE, errno: CInt?) {
        self.description = description
        self.exitStatus = exitStatus
        self.errno = errno
    }

    /// What was set up cannot work.
    init(configuration description: String) {
        self.init(description, exitStatus: EX_CONFIG)
    }

    /// A system call that failed, with what `errno` says of it.
    init(cannot action: String, errno code: CInt) {
        self.init("cannot \(action): \(SystemError.text(of: code))", errno: code)
    }

    /// Tells the service manager, so that `systemctl status` shows the sentence; waits for it to take
    /// that, but not for ever.
    ///
    /// - Parameter logger: told if the manager cannot be.
    package func tell(
        _ logger: Logger = .service(label: "statemachine", threshold: LogThreshold(.info))
    ) async {
        await ServiceManager(logger: logger).tell("failed") { notifier in
            try notifier.failed(self.description, errno: self.errno, exitStatus: self.exitStatus)
        }
    }
}
