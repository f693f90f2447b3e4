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
    /// `notify` is for what it tells the service manager; it gets the descriptors in order, from 3
    /// on.
    package init(
        _ words: [String],
        environment: [String: String] = [:],
        notify: NotifySocket? = nil,
        handing: [Descriptor] = [],
        output: String
    ) throws {
        self.output = output
        // First copied out of each other's way.
        let copies = handing.map { fcntl($0.number, F_DUPFD_CLOEXEC, 1000) }
        defer { for copy in copies { close(copy) } }
        guard !copies.contains(-1) else { throw TestFailure("no descriptor: errno \(errno)") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, flags, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        for (index, copy) in copies.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, copy, 3 + CInt(index))
        }
        try actions.close(from: 3 + CInt(copies.count))
        // A sanitizer's options say where it writes its reports.
        let names: [String] = [
            "PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS",
        ]
        let inherited = names.compactMap { name in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        let told = notify.map { ["NOTIFY_SOCKET=\($0.path)"] } ?? []
        let variables = inherited + told + environment.map { "\($0)=\($1)" }
        let line: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let block: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for copy in line + block { free(copy) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, words[0], &actions, nil, line, block)
        guard result == 0 else { throw TestFailure("cannot start \(words[0]): errno \(result)") }
        self.pid = pid
        notify?.follow(pid) { text(of: output) }
    }

    deinit {
        // Still running if a test failed.
        guard !self.hasEnded else { return }
        kill(self.pid, SIGKILL)
        var status: CInt = 0
        waitpid(self.pid, &status, 0)
    }

    /// Waits until it has written that.
    package func wait(for text: String) async throws {
        _ = try await TestSupport.wait(for: [text], in: self.output) { !self.isOver }
    }

    private var isOver: Bool {
        var information = siginfo_t()
        // Leaves it to be waited for.
        let result = waitid(P_PID, id_t(self.pid), &information, WEXITED | WNOHANG | WNOWAIT)
        return result != 0 || information.si_signo != 0
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

/// Waits until a file has one of those texts, as long as it may still come; returns all that it
/// has.
package func wait(
    for texts: [String],
    in path: String,
    while mayCome: @escaping @Sendable () -> Bool = { true }
) async throws -> String {
    try await blocking {
        // Writing to a file wakes nobody, so this polls.
        for _ in 0..<longestWait / 10 {
            let isLast = !mayCome()
            let written = text(of: path)
            if texts.contains(where: written.contains) { return written }
            if isLast { break }
            usleep(10_000)
        }
        throw TestFailure("\(path) never had \(texts[0]):\n\(text(of: path))")
    }
}

/// What is in a file; nothing if there is none.
package func text(of path: String) -> String {
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
