package import Glibc
import Synchronization

/// A program that a test starts and ends, with its output in a file.
///
/// Guarded state: `status`, behind its lock.
package final class SpawnedProcess: Sendable {
    package let pid: pid_t
    private let output: String
    private let status = Mutex<CInt?>(nil)

    /// Starts it; both its outputs are appended to the file.
    ///
    /// `notify` is for what it tells the service manager.
    package init(
        _ words: [String],
        environment: [String: String] = [:],
        notify: NotifySocket? = nil,
        output: String
    ) throws {
        self.output = output
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, flags, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        try actions.close(from: STDERR_FILENO + 1)
        let names: [String] = ["PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS"]
        let inherited = names.compactMap { name in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        var environment = environment
        if let notify { environment["NOTIFY_SOCKET"] = notify.path }
        let variables = inherited + environment.map { "\($0)=\($1)" }
        let line: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let block: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for copy in line + block { free(copy) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, words[0], &actions, nil, line, block)
        guard result == 0 else { throw TestFailure("cannot start \(words[0]): errno \(result)") }
        self.pid = pid
        notify?.follow(pid) { text(of: output) }
    }

    deinit {
        // Still running if a test failed.
        guard self.status.withLock({ $0 }) == nil else { return }
        kill(self.pid, SIGKILL)
        var status: CInt = 0
        waitpid(self.pid, &status, 0)
    }

    package func send(_ signal: CInt) { kill(self.pid, signal) }

    /// Waits for its end; returns its exit status, or a signal's number negated.
    package func ended() async throws -> CInt {
        try await blocking {
            if let status = self.status.withLock({ $0 }) { return status }
            var status: CInt = 0
            while waitpid(self.pid, &status, 0) < 0 {
                guard errno == EINTR else { throw TestFailure("it was lost: errno \(errno)") }
            }
            let signal = status & 0x7f
            let end = signal == 0 ? status >> 8 & 0xff : -signal
            self.status.withLock { $0 = end }
            return end
        }
    }

    /// What it has written so far.
    package var said: String { text(of: self.output) }
}

/// What is in a file; nothing if there is none.
func text(of path: String) -> String {
    guard let file = fopen(path, "re") else { return "" }
    defer { fclose(file) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { return String(decoding: text, as: UTF8.self) }
        text += buffer[..<count]
    }
}
