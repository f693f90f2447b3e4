import Foundation
package import Subprocess
import SystemPackage

/// A daemon that was started for a test and is ready.
package struct DaemonProcess: Sendable {
    /// Its runtime directory.
    package let directory: String
    package let notify: NotifySocket
    private let process: SpawnedProcess

    package var pid: Int32 { self.process.pid }
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

    package func send(_ signal: Signal) throws {
        guard self.process.send(signal.rawValue) else { throw TestFailure("the daemon has ended") }
    }

    /// Starts the built daemon in `directory`, waits for READY=1, runs `body`, and ends the daemon
    /// with SIGTERM unless `body` has.
    ///
    /// `machine` is the text of its machine's file, if it has one; `isDurable` says whether it has a
    /// history, in ``state``.
    /// `wrapper` is a command to start instead; the daemon's command line follows its words, and it
    /// becomes the daemon.
    package static func run(
        _ program: BuiltProduct = .statemachine,
        in directory: String,
        machine: String? = nil,
        isDurable: Bool = false,
        arguments: [String] = [],
        environment: [String: String] = [:],
        through wrapper: [String] = [],
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws -> Ended {
        let notify = try NotifySocket(in: directory)
        let runtime = "\(directory)/run"
        // Work for an event loop that has ended ends the process instead of just printing a warning.
        let own = ["SWIFTNIO_STRICT": "1"]
        var words = ["--runtime-directory", runtime] + arguments
        if isDurable { words += ["--state-directory", "\(directory)/state"] }
        if let machine {
            let file = "\(directory)/machine.yaml"
            try machine.write(toFile: file, atomically: true, encoding: .utf8)
            words += ["--machine", file]
        }
        let process = try SpawnedProcess(
            wrapper + [program.path] + words,
            environment: own.merging(environment) { $1 },
            notify: notify,
            output: "\(directory)/stderr"
        )
        try await notify.wait(for: "READY=1")
        try await body(DaemonProcess(directory: runtime, notify: notify, process: process))
        let status = try await process.end()
        return Ended(status: status < 0 ? .signaled(-status) : .exited(status), runtime: runtime)
    }

    /// The same in a directory of its own, logging only errors.
    package static func run(
        _ arguments: String...,
        machine: String? = nil,
        isDurable: Bool = false,
        body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await Self.run(
                in: directory,
                machine: machine,
                isDurable: isDurable,
                arguments: ["--log-level", "error"] + arguments,
                body
            )
            // A test may have killed it.
            guard [.exited(0), .signaled(15), .signaled(9)].contains(ended.status) else {
                throw TestFailure("the daemon ended badly: \(ended.status)")
            }
        }
    }

    /// What remains of a daemon that has ended.
    package struct Ended: Sendable {
        package let status: TerminationStatus
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
