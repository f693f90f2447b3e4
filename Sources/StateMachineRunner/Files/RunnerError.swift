import Glibc

/// Why a runner does not begin, or cannot go on, in a sentence for people.
package struct RunnerError: Error, Hashable, CustomStringConvertible {
    package let description: String

    /// The status that the process should exit with: 1, or 78 (`EX_CONFIG` of sysexits.h) where a file is
    /// refused and would be again.
    package let exitStatus: CInt

    package init(_ description: String, exitStatus: CInt = EXIT_FAILURE) {
        self.description = description
        self.exitStatus = exitStatus
    }

    /// For a failed system call.
    init(cannot what: String, errno code: CInt) {
        self.init("cannot \(what): \(String(cString: strerror(code)))")
    }
}
