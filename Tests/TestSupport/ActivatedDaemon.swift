package import Glibc

/// The built daemon started as the service manager starts it: with descriptors, whose count and
/// names are in `$LISTEN_FDS` and `$LISTEN_FDNAMES`.
package struct ActivatedDaemon: Sendable {
    /// Its runtime directory.
    package let directory: String
    private let process: SpawnedProcess

    package var pid: pid_t { self.process.pid }
    package var control: String { "\(self.directory)/control.sock" }
    package var events: String { "\(self.directory)/events.sock" }

    /// Starts it; wait for READY=1 at the notify socket.
    ///
    /// It gets the descriptors in order. With `logsToJournal`, `$JOURNAL_STREAM` tells it that its
    /// stderr leads to the journal. `command` comes before the daemon on the command line.
    package init(
        _ program: BuiltProduct = .statemachine,
        in directory: String,
        notify: NotifySocket,
        handing: [Descriptor] = [],
        arguments: [String] = [],
        environment: [String: String] = [:],
        command: [String] = [],
        logsToJournal: Bool = false
    ) throws {
        self.directory = "\(directory)/run"
        let errors = "\(directory)/errors-\(UInt32.random(in: 0...UInt32.max))"
        var variables = environment
        // As for `DaemonProcess`.
        variables["SWIFTNIO_STRICT"] = "1"
        if logsToJournal {
            close(open(errors, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
            var status = stat()
            guard stat(errors, &status) == 0 else { throw TestFailure("\(errors): \(errno)") }
            variables["JOURNAL_STREAM"] = "\(status.st_dev):\(status.st_ino)"
        }
        if !handing.isEmpty {
            variables["LISTEN_FDS"] = "\(handing.count)"
            variables["LISTEN_FDNAMES"] = handing.map(\.name).joined(separator: ":")
        }
        // Only the process itself knows its number for $LISTEN_PID.
        let script = #"export LISTEN_PID=$$ WATCHDOG_PID=$$; exec "$@""#
        self.process = try SpawnedProcess(
            ["/bin/sh", "-c", script, "sh"] + command + [program.path]
                + ["--runtime-directory", self.directory] + arguments,
            environment: variables,
            notify: notify,
            handing: handing,
            output: errors
        )
    }

    package func send(_ signal: CInt) { self.process.send(signal) }

    /// Waits until it has written that to stderr.
    package func wait(forErrors text: String) async throws {
        try await self.process.wait(for: text)
    }

    /// Waits for its end; returns its stderr and its exit status, or a signal's number negated.
    package func ended() async throws -> (errors: String, status: CInt) {
        let status = try await self.process.ended()
        return (self.process.said, status)
    }

    /// Ends it by a signal; returns that status.
    @discardableResult
    package func end(by signal: CInt = SIGTERM) async throws -> CInt {
        try await self.process.end(by: signal)
    }

    /// Waits until a SIGSTOP has stopped it.
    package func stopped() async throws { try await self.process.stopped() }

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
