import Foundation
import Glibc
import StateMachineDeclaration
import Synchronization
import TestSupport
import Testing

/// A machine with commands, its daemon, and its runner, in directories of one test's own.
final class RunningMachine: Sendable {
    /// Contains the sockets and the record.
    let directory: String
    /// Contains the machine's file: not below a directory that others may write to, as the one
    /// above is.
    let place: String
    let witness: Witness
    /// What commands wait for at `WITNESS.go`.
    let go: FIFO
    let isDurable: Bool
    /// The daemon and the runner that were started last.
    private let started = Mutex<(daemon: SpawnedProcess?, runner: SpawnedProcess?)>((nil, nil))

    init(_ text: String, in directory: String, place: String, isDurable: Bool) throws {
        self.directory = directory
        self.place = place
        self.isDurable = isDurable
        self.witness = try Witness(at: "\(directory)/witness")
        self.go = try FIFO(beside: self.witness.path)
        let reading = DeclarationReading(Array(text.utf8))
        guard reading.declaration != nil else {
            throw TestFailure("\(reading.problems.map { $0.line(in: "file") })")
        }
        try self.write(text)
    }

    var file: String { "\(self.place)/machine.yaml" }
    var run: String { "\(self.directory)/run" }
    var log: String { "\(self.directory)/runner.log" }

    /// Writes the file; `WITNESS` stands for the path that commands write to.
    func write(_ text: String) throws {
        try Data(text.replacing("WITNESS", with: self.witness.path).utf8)
            .write(to: URL(filePath: self.file), options: .atomic)
        // Whatever the umask: others may not write to a file that names commands.
        guard chmod(self.file, 0o644) == 0 else { throw TestFailure("chmod: errno \(errno)") }
    }

    var daemon: SpawnedProcess { get throws { try #require(self.started.withLock { $0.daemon }) } }
    var runner: SpawnedProcess { get throws { try #require(self.started.withLock { $0.runner }) } }

    /// Starts the daemon, and then the runner.
    func start() async throws {
        try await self.startDaemon()
        try await self.startRunner()
    }

    /// Starts the daemon in that boot of the machine; returns when it is ready.
    func startDaemon(boot: String? = nil, options: [String] = []) async throws {
        let notify = try NotifySocket(in: self.directory, name: "daemon-notify")
        let state = self.isDurable ? ["--state-directory", "\(self.directory)/state"] : []
        let daemon = try SpawnedProcess(
            [
                BuiltProduct.statemachine.path, "--machine", self.file, "--runtime-directory",
                self.run, "--log-level", "warning",
            ] + state + options,
            environment: Self.environment(boot),
            notify: notify,
            output: "\(self.directory)/daemon.log"
        )
        self.started.withLock { $0.daemon = daemon }
        try await notify.wait(for: "READY=1")
    }

    /// Starts a runner with commands as children, after what a shell does first; returns when it has begun.
    func startRunner(
        boot: String? = nil,
        memory: String = "memory",
        in shell: String? = nil
    ) async throws {
        let notify = try NotifySocket(in: self.directory, name: "runner-notify")
        let runner = try self.spawnRunner(
            notify,
            boot: boot,
            memory: memory,
            through: shell.map { ["/bin/sh", "-c", "\($0); exec \"$@\"", "sh"] } ?? []
        )
        self.started.withLock { $0.runner = runner }
        try await notify.wait(for: "READY=1")
    }

    /// Starts a runner that should refuse to; nil as `memory` means that it keeps no record.
    func refusedRunner(memory: String? = "memory") throws -> SpawnedProcess {
        try self.spawnRunner(nil, memory: memory)
    }

    private static func environment(_ boot: String?) -> [String: String] {
        boot.map { ["BOOT_ID": $0] } ?? [:]
    }

    /// Starts a runner, perhaps through another program; nobody waits until it has begun.
    func spawnRunner(
        _ notify: NotifySocket?,
        boot: String? = nil,
        memory: String? = "memory",
        through program: [String] = []
    ) throws -> SpawnedProcess {
        let remembering = memory.map { ["--state-directory", "\(self.directory)/\($0)"] } ?? []
        return try SpawnedProcess(
            program + [
                BuiltProduct.runner.path, "--machine", self.file, "--runtime-directory", self.run,
                "--children", "--log-level", "debug",
            ] + remembering,
            environment: Self.environment(boot),
            notify: notify,
            output: self.log
        )
    }

    /// Ends what was started last and has not ended, the runner first.
    fileprivate func end(at place: SourceLocation) async throws {
        let (daemon, runner) = self.started.withLock { $0 }
        for process in [runner, daemon].compactMap(\.self) where !process.hasEnded {
            #expect(try await process.end() == 0, sourceLocation: place)
        }
    }

    func connect() throws -> LineSocket { try LineSocket(connectingTo: "\(self.run)/control.sock") }

    /// A watch that has received the present state.
    func watch() async throws -> LineSocket {
        let socket = try LineSocket(connectingTo: "\(self.run)/events.sock")
        _ = try await socket.next()
        return socket
    }

    func ask(_ line: String) async throws -> JSONLine { try await self.connect().ask(line) }

    /// Waits until the runner has logged that; returns its whole log.
    @discardableResult
    func logged(_ text: String) async throws -> String {
        try await wait(for: [text], in: self.log)
    }

    /// Waits until the runner's record has that text, perhaps within another text.
    func remembered(_ text: String) async throws {
        let quoted = text.replacing("\"", with: "\\\"")
        let record = "\(self.directory)/memory/runner-record.json"
        _ = try await wait(for: [text, quoted], in: record)
    }

    /// Keeps a copy of the history as the disk has it now.
    func keepHistory() throws {
        try? FileManager.default.removeItem(atPath: "\(self.directory)/kept")
        try FileManager.default.copyItem(
            atPath: "\(self.directory)/state",
            toPath: "\(self.directory)/kept"
        )
    }

    /// Puts the copy in place of what came after it, as a loss of power does.
    func putHistoryBack() throws {
        try FileManager.default.removeItem(atPath: "\(self.directory)/state")
        try FileManager.default.moveItem(
            atPath: "\(self.directory)/kept",
            toPath: "\(self.directory)/state"
        )
    }

    /// The runner's log, for a test that fails.
    var said: String { text(of: self.log) }
}

/// Runs `body` with a machine in directories of its own, and ends what it has started.
func withRunningMachine(
    _ text: String,
    isDurable: Bool = true,
    at source: SourceLocation = #_sourceLocation,
    _ body: (RunningMachine) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let place = try "\(BuiltProduct.directory)/runner-\(UInt32.random(in: 0...UInt32.max))"
        try makeDirectory(place)
        defer {
            // Failing to remove it is no reason to fail a test.
            try? FileManager.default.removeItem(atPath: place)
        }
        let machine = try RunningMachine(text, in: directory, place: place, isDurable: isDurable)
        try await body(machine)
        try await machine.end(at: source)
    }
}
