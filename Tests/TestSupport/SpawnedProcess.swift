package import Glibc
import Synchronization

/// A program that a test starts and ends.
///
/// Guarded state: `status`, behind its lock.
package final class SpawnedProcess: Sendable {
    package let pid: pid_t
    private let output: String
    private let status = Mutex<CInt?>(nil)

    /// Starts it; both its outputs are appended to the file.
    ///
    /// `notify` is for what it tells the service manager.
    package convenience init(
        _ words: [String],
        environment: [String: String] = [:],
        notify: NotifySocket? = nil,
        output: String
    ) throws {
        var environment = environment
        if let notify { environment["NOTIFY_SOCKET"] = notify.path }
        try self.init(words, environment: environment, output: output) { actions in
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            let flags = O_WRONLY | O_CREAT | O_APPEND
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, flags, 0o600)
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
            return STDERR_FILENO
        }
        notify?.follow(self.pid) { text(of: output) }
    }

    /// Starts it with the descriptors that `arrange` gives it, of which it returns the last.
    init(
        _ words: [String],
        environment: [String: String],
        output: String = "/dev/null",
        _ arrange: (inout posix_spawn_file_actions_t) -> CInt
    ) throws {
        self.output = output
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        try actions.close(from: arrange(&actions) + 1)
        // A sanitizer's options say where it writes its reports.
        let names: [String] = [
            "PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS",
        ]
        let inherited = names.compactMap { name in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        let variables = inherited + environment.map { "\($0)=\($1)" }
        let line: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let block: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for copy in line + block { free(copy) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, words[0], &actions, nil, line, block)
        guard result == 0 else { throw TestFailure("cannot start \(words[0]): errno \(result)") }
        self.pid = pid
    }

    deinit {
        // Still running if a test failed.
        guard !self.hasEnded else { return }
        kill(self.pid, SIGKILL)
        var status: CInt = 0
        waitpid(self.pid, &status, 0)
    }

    /// Whether its end has been waited for.
    package var hasEnded: Bool { self.status.withLock { $0 } != nil }

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

    /// Ends it by a signal; returns the same.
    @discardableResult
    package func end(by signal: CInt = SIGTERM) async throws -> CInt {
        self.send(signal)
        return try await self.ended()
    }

    /// What it has written so far.
    package var said: String { text(of: self.output) }
}

extension posix_spawn_file_actions_t {
    /// Closes all of this process's descriptors from `first` on in the new process.
    ///
    /// Other tests' sockets are among them; if a daemon kept them open, their readers would never
    /// see the end.
    fileprivate mutating func close(from first: CInt) throws {
        // posix_spawn_file_actions_addclosefrom_np(3), which Glibc's module leaves out.
        typealias Add = @convention(c) (UnsafeMutablePointer<Self>, CInt) -> CInt
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
            throw TestFailure("this system cannot close what a new process is not to have")
        }
        let result = unsafeBitCast(symbol, to: Add.self)(&self, first)
        guard result == 0 else { throw TestFailure("cannot close from \(first): errno \(result)") }
    }
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
