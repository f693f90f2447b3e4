import Dispatch
package import Glibc
import Synchronization

/// A program that a test starts and ends.
package final class SpawnedProcess: Sendable {
    private let child: Child
    private let output: String

    package var pid: pid_t { self.child.pid }

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
        let child = Child(pid)
        self.child = child
        notify?.follow(pid) { text(of: output) }
        DispatchQueue(label: "end of \(pid)").async {
            child.awaitEnd()
            notify?.noteEnd(of: child.pid)
        }
    }

    deinit {
        // Still running if a test failed.
        self.send(SIGKILL)
    }

    /// Waits until it has written that.
    package func wait(for text: String) async throws {
        _ = try await TestSupport.wait(for: [text], in: self.output) { !self.hasEnded }
    }

    package var hasEnded: Bool { !self.child.end.heard.isEmpty }

    /// Sends it a signal; false if it has ended.
    @discardableResult
    package func send(_ signal: CInt) -> Bool { self.child.send(signal) }

    /// Waits until a SIGSTOP has stopped it.
    package func stopped() async throws {
        try await blocking {
            var information = siginfo_t()
            while waitid(P_PID, id_t(self.pid), &information, WSTOPPED) != 0 {
                guard errno == EINTR else { throw TestFailure("it ended instead") }
            }
        }
    }

    /// Waits for its end; returns its exit status, or a signal's number negated.
    package func ended() async throws -> CInt { await self.child.end.wait(for: 1)[0] }

    /// Ends it by a signal; returns the same.
    @discardableResult
    package func end(by signal: CInt = SIGTERM) async throws -> CInt {
        self.send(signal)
        return try await self.ended()
    }

    /// What it has written so far.
    package var said: String { text(of: self.output) }
}

/// A child of this process, which is waited for as soon as it ends.
///
/// One that is not hides others that have ended from Swift Testing, which then looks for those of its exit tests without a
/// pause, and in vain.
///
/// Guarded state: `isThere`, behind its lock: afterwards its number may be another's.
private final class Child: Sendable {
    let pid: pid_t
    /// Its exit status, or a signal's number negated, once it has ended.
    let end = Recorder<CInt>()
    private let isThere = Mutex(true)

    init(_ pid: pid_t) { self.pid = pid }

    func send(_ signal: CInt) -> Bool {
        self.isThere.withLock { $0 && kill(self.pid, signal) == 0 }
    }

    /// Blocks the calling thread until it has ended.
    func awaitEnd() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(self.pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let status = self.isThere.withLock { isThere in
            isThere = false
            var status: CInt = 0
            while waitpid(self.pid, &status, 0) < 0, errno == EINTR {}
            return status
        }
        let signal = status & 0x7f
        self.end.record(signal == 0 ? status >> 8 & 0xff : -signal)
    }
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
