package import Glibc
import Synchronization

/// The built daemon started as the service manager starts it: with descriptors, whose count and
/// names are in `$LISTEN_FDS` and `$LISTEN_FDNAMES`.
///
/// Guarded state: `written`, behind its lock.
package final class ActivatedDaemon: Sendable {
    /// Its runtime directory.
    package let directory: String
    private let process: SpawnedProcess
    private let errors: CInt
    private let written = Mutex<[UInt8]>([])

    package var pid: pid_t { self.process.pid }
    package var control: String { "\(self.directory)/control.sock" }
    package var events: String { "\(self.directory)/events.sock" }

    /// Starts it; wait for READY=1 at the notify socket.
    ///
    /// It gets the descriptors in order. With `logsToJournal`, `$JOURNAL_STREAM` tells it that its
    /// stderr leads to the journal. `command` comes before the daemon on the command line.
    package init(
        in directory: String,
        notify: NotifySocket,
        handing: [Descriptor] = [],
        arguments: [String] = [],
        environment: [String: String] = [:],
        command: [String] = [],
        logsToJournal: Bool = false
    ) throws {
        self.directory = "\(directory)/run"
        // Close-on-exec from the start: another test may spawn a process at this moment.
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0
        else { throw TestFailure("no socket pair: errno \(errno)") }
        defer { close(pair[1]) }
        self.errors = pair[0]
        // Placed after stderr, because a new number may be one of the pair's; first copied out of
        // each other's way.
        let copies = handing.map { fcntl($0.number, F_DUPFD_CLOEXEC, 1000) }
        defer { for copy in copies { close(copy) } }
        guard !copies.contains(-1) else { throw TestFailure("no descriptor: errno \(errno)") }

        var variables = environment
        variables["NOTIFY_SOCKET"] = notify.path
        // As for `DaemonProcess`.
        variables["SWIFTNIO_STRICT"] = "1"
        var status = stat()
        if logsToJournal, fstat(pair[1], &status) == 0 {
            variables["JOURNAL_STREAM"] = "\(status.st_dev):\(status.st_ino)"
        }
        if !handing.isEmpty {
            variables["LISTEN_FDS"] = "\(handing.count)"
            variables["LISTEN_FDNAMES"] = handing.map(\.name).joined(separator: ":")
        }
        // Only the process itself knows its number for $LISTEN_PID.
        let script = #"export LISTEN_PID=$$ WATCHDOG_PID=$$; exec "$@""#
        let line: [String] =
            ["/bin/sh", "-c", script, "sh"] + command + [try BuiltProduct.statemachine.path]
            + ["--runtime-directory", "\(directory)/run"] + arguments
        self.process = try SpawnedProcess(line, environment: variables) { [pair] actions in
            posix_spawn_file_actions_adddup2(&actions, pair[1], STDERR_FILENO)
            for (index, copy) in copies.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, copy, 3 + CInt(index))
            }
            return STDERR_FILENO + CInt(copies.count)
        }
        notify.follow(self.pid) { [weak self] in self?.said ?? "" }
    }

    deinit { close(self.errors) }

    package func send(_ signal: CInt) { self.process.send(signal) }

    /// Waits until it has written that to stderr.
    package func wait(forErrors text: String) async throws {
        try await blocking {
            while !String(decoding: self.written.withLock { $0 }, as: UTF8.self).contains(text) {
                guard try self.readErrors() else { throw TestFailure("it never said \(text)") }
            }
        }
    }

    /// Waits for its end; returns its stderr and its exit status, or a signal's number negated.
    package func ended() async throws -> (errors: String, status: CInt) {
        try await blocking { while try self.readErrors() {} }
        let status = try await self.process.ended()
        return (String(decoding: self.written.withLock { $0 }, as: UTF8.self), status)
    }

    /// Ends it by a signal; returns that status.
    @discardableResult
    package func end(by signal: CInt = SIGTERM) async throws -> CInt {
        self.send(signal)
        return try await self.ended().status
    }

    /// Waits until a SIGSTOP has stopped it.
    package func stopped() async throws {
        try await blocking {
            var status: CInt = 0
            guard waitpid(self.pid, &status, WUNTRACED) == self.pid, status & 0xff == 0x7f else {
                throw TestFailure("it ended instead: \(status)")
            }
        }
    }

    /// Reads more of its stderr; false at the end.
    private func readErrors() throws -> Bool {
        try UnixSocket.wait(for: POLLIN, on: self.errors, "what the daemon says")
        return self.takeErrors(0)
    }

    /// Takes what there is of its stderr; false if there is nothing.
    private func takeErrors(_ flags: CInt) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.errors, &chunk, chunk.count, flags)
        guard count > 0 else { return false }
        self.written.withLock { $0 += chunk[..<count] }
        return true
    }

    /// What it has written so far.
    private var said: String {
        while self.takeErrors(CInt(MSG_DONTWAIT)) {}
        return String(decoding: self.written.withLock { $0 }, as: UTF8.self)
    }

    package func connect(_ path: KeyPath<ActivatedDaemon, String>) throws -> LineSocket {
        try LineSocket(connectingTo: self[keyPath: path])
    }
}

extension Descriptor {
    /// Two sockets that are connected to each other.
    package static func pair(named names: String...) -> [Descriptor] {
        var pair: [CInt] = [-1, -1]
        socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
        return zip(pair, names).map { Descriptor($0, name: $1) }
    }

    /// A socket of that type bound in the file system; a stream socket listens if asked to.
    package static func socket(
        named name: String,
        at path: String,
        type: __socket_type = SOCK_STREAM,
        listening: Bool = true
    ) throws -> Descriptor {
        let socket = Glibc.socket(AF_UNIX, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let descriptor = Descriptor(socket, name: name)
        guard UnixSocket.withAddress(path, { bind(socket, $0, $1) }) == 0,
            !listening || listen(socket, 128) == 0
        else { throw TestFailure("cannot listen at \(path): errno \(errno)") }
        return descriptor
    }
}
