import Foundation

/// What `swiftc` says about a program when it only checks it; empty if nothing.
///
/// Spawned by hand: ThreadSanitizer does not know the lock in Subprocess, and with Foundation's
/// `Process` one run in nine hung on a loaded computer because Dispatch had no thread left.
package func diagnostics(of file: String, options: [String]) async throws -> String {
    let said = file + ".diagnostics"
    try await blocking {
        let words = ["swiftc", "-typecheck", "-swift-version", "6"] + options + [file]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 2, said, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var pid = pid_t()
        let error = posix_spawnp(&pid, "swiftc", &actions, nil, &arguments, environ)
        guard error == 0 else {
            throw TestFailure("swiftc could not be started: error \(error); it has to be in PATH")
        }
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { throw TestFailure("swiftc was lost: error \(errno)") }
        }
    }
    return try String(contentsOfFile: said, encoding: .utf8)
}
