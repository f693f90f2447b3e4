package import Subprocess
import SystemPackage

/// A daemon that was started for a test and is ready.
package struct DaemonProcess: Sendable {
    /// Its runtime directory.
    package let directory: String
    package let notify: NotifySocket
    package let pid: Int32
    private let deliver: @Sendable (Signal) throws -> Void

    package var control: String { "\(self.directory)/control.sock" }
    package var events: String { "\(self.directory)/events.sock" }

    /// Its state directory, beside the other one, if it has a history.
    package var state: String { "\(self.directory.dropLast(3))state" }

    package func connect(_ path: KeyPath<DaemonProcess, String>) throws -> LineSocket {
        try LineSocket(connectingTo: self[keyPath: path])
    }

    /// Connects, sends one line, and returns the first line received.
    package func ask(
        _ door: KeyPath<DaemonProcess, String>,
        _ line: String
    ) async throws -> JSONLine {
        try await self.connect(door).ask(line)
    }

    package func send(_ signal: Signal) throws { try self.deliver(signal) }

    /// Starts the built daemon in `directory`, waits for READY=1, runs `body`, and ends the daemon
    /// with SIGTERM unless `body` has.
    ///
    /// `wrapper` is a command to start instead; the daemon's command line follows its words, and it
    /// becomes the daemon.
    package static func run(
        in directory: String,
        arguments: [String] = [],
        environment: [Environment.Key: String?] = [:],
        through wrapper: [String] = [],
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws -> Ended {
        let notify = try NotifySocket(in: directory)
        let runtime = "\(directory)/run"
        let own: [Environment.Key: String?] = [
            "NOTIFY_SOCKET": notify.path,
            // Work for an event loop that has ended ends the process instead of just printing a
            // warning.
            "SWIFTNIO_STRICT": "1",
        ]
        let daemon = try BuiltProduct.statemachine.path
        let arguments = ["--runtime-directory", runtime] + arguments
        let errors = "\(directory)/stderr"
        let result = try await Subprocess.run(
            wrapper.first.map { .name($0) } ?? .path(FilePath(daemon)),
            arguments: Arguments(
                wrapper.isEmpty ? arguments : wrapper.dropFirst() + [daemon] + arguments
            ),
            environment: .inherit.updating(own.merging(environment) { $1 }),
            input: .none,
            output: .discarded,
            error: .fileDescriptor(
                try FileDescriptor.open(
                    FilePath(errors),
                    .writeOnly,
                    options: [.create, .append, .closeOnExec],
                    permissions: .ownerReadWrite
                ),
                closeAfterSpawningProcess: true
            )
        ) { execution in
            let daemon = DaemonProcess(
                directory: runtime,
                notify: notify,
                pid: Int32(execution.processIdentifier.value),
                deliver: { try execution.send(signal: $0) }
            )
            // Fails only if the body has ended the daemon itself. Without it a test that fails
            // would wait for the daemon for ever.
            defer { try? execution.send(signal: .terminate) }
            notify.follow(daemon.pid) { text(of: errors) }
            try await notify.wait(for: "READY=1")
            try await body(daemon)
        }
        return Ended(status: result.terminationStatus, notify: notify, runtime: runtime)
    }

    /// The same in a directory of its own, logging only errors; `isDurable` says whether it has a
    /// history.
    package static func run(
        _ arguments: String...,
        isDurable: Bool = false,
        body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let own =
                ["--log-level", "error"]
                + (isDurable ? ["--state-directory", "\(directory)/state"] : [])
            let ended = try await Self.run(in: directory, arguments: own + arguments, body)
            // A test may have killed it.
            guard [.exited(0), .signaled(15), .signaled(9)].contains(ended.status) else {
                throw TestFailure("the daemon ended badly: \(ended.status)")
            }
        }
    }

    /// What remains of a daemon that has ended.
    package struct Ended: Sendable {
        package let status: TerminationStatus
        package let notify: NotifySocket
        package let runtime: String
    }
}

extension BuiltProduct {
    /// Runs it to its end.
    package func run(
        _ arguments: [String],
        input: String = "",
        environment: [Environment.Key: String?] = [:]
    ) async throws -> (output: String, errors: String, status: TerminationStatus) {
        try await runTool(
            .path(FilePath(self.path)),
            arguments,
            input: input,
            environment: environment
        )
    }
}

/// Runs a program to its end.
package func runTool(
    _ executable: Executable,
    _ arguments: [String],
    input: String = "",
    environment: [Environment.Key: String?] = [:]
) async throws -> (output: String, errors: String, status: TerminationStatus) {
    let result = try await Subprocess.run(
        executable,
        arguments: Arguments(arguments),
        environment: .inherit.updating(environment),
        input: .string(input),
        output: .string(limit: 1 << 24),
        error: .string(limit: 1 << 24)
    )
    return (result.standardOutput, result.standardError, result.terminationStatus)
}
