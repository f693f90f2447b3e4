import Glibc

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

    init(_ description: String, exitStatus: CInt = EXIT_FAILURE) {
        self.description = description
        self.exitStatus = exitStatus
        self.errno = nil
    }

    /// What was set up cannot work.
    init(configuration description: String) {
        self.init(description, exitStatus: EX_CONFIG)
    }

    /// A system call that failed, with what `errno` says of it.
    init(_ action: String, errno code: CInt) {
        self.description = "cannot \(action): \(SystemError.text(of: code))"
        self.exitStatus = EXIT_FAILURE
        self.errno = code
    }
}
