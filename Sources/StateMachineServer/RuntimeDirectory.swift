import Glibc

/// The directory that holds the doors, held against other daemons for as long as this value lives.
///
/// The directory itself is locked (`flock`), so that of two daemons started at once one gets it.
package final class RuntimeDirectory: Sendable {
    let path: String
    private let descriptor: CInt

    /// Where the doors are to be: what was asked for, what systemd set, what belongs to the user.
    ///
    /// Never a directory that everybody may write to.
    package static func path(
        asked: String?,
        environment: (String) -> String?,
        isRoot: Bool
    ) throws(DaemonError) -> String {
        if let asked { return asked }
        // systemd gives a list where a unit has several; the first is ours.
        if let set = environment("RUNTIME_DIRECTORY")?.split(separator: ":").first {
            return String(set)
        }
        if isRoot { return "/run/statemachine" }
        if let user = environment("XDG_RUNTIME_DIR"), !user.isEmpty {
            return "\(user)/statemachine"
        }
        throw DaemonError(
            "there is no runtime directory: --runtime-directory was not given, and neither "
                + "$RUNTIME_DIRECTORY (set by systemd) nor $XDG_RUNTIME_DIR is set"
        )
    }

    /// Makes the directory if it is not there, and locks it.
    init(_ path: String) throws(DaemonError) {
        if mkdir(path, 0o755) != 0 && errno != EEXIST {
            throw DaemonError(cannot: "make the runtime directory \(path)", errno: errno)
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw DaemonError(cannot: "open the runtime directory \(path)", errno: errno)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else {
                throw DaemonError(cannot: "lock the runtime directory \(path)", errno: code)
            }
            throw DaemonError(
                "another daemon is running in \(path); stop it, or give another --runtime-directory"
            )
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }
}
