import Foundation
import Glibc
import Logging
import ServiceLifecycle
import StateMachineCore
import StateMachineDeclaration
import StateMachineHistory
import StateMachineProtocol
import StateMachineServer
import TestSupport

/// A declared machine and its history in a directory of a test's own, and the clock of its computer.
struct DeclaredMachine: Sendable {
    let text: String
    let directory: String
    let clock: ManualStayClock

    var state: String { "\(self.directory)/state" }

    /// Runs its daemon until `body` ends.
    ///
    /// - Parameters:
    ///   - boot: the start of the machine.
    ///   - clock: another computer's clock.
    ///   - state: where another history is.
    ///   - graceMs: how long the last run's clients have to come back.
    ///   - body: what happens meanwhile.
    /// - Throws: what `body` does, or why there is no daemon.
    func run(
        boot: String = "1",
        clock: ManualStayClock? = nil,
        from state: String? = nil,
        graceMs: Int? = nil,
        _ body: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        try await DeclaredDaemon.run(
            self.text,
            state: state ?? self.state,
            boot: boot,
            clock: clock ?? self.clock,
            graceMs: graceMs,
            body
        )
    }

    /// Runs `body` with one that has not run yet.
    static func with(
        _ text: String,
        clock: ManualStayClock = ManualStayClock(),
        _ body: @escaping @Sendable (DeclaredMachine) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await body(DeclaredMachine(text: text, directory: directory, clock: clock))
        }
    }
}

/// One run of a declared machine's daemon inside the test, with clocks that the test advances.
struct DeclaredDaemon {
    let runtime: String
    let clock: ManualStayClock
    /// Where its history is; nil: it has none.
    let state: String?

    func connect() throws -> LineSocket {
        try LineSocket(connectingTo: "\(self.runtime)/control.sock")
    }

    func ask(_ line: String) async throws -> JSONLine { try await self.connect().ask(line) }

    /// Returns when the daemon has handled what the clock has done so far.
    func heardTheClock() async throws {
        // A timer may reach the loop after a line that is sent later, but not after that line's
        // answer.
        _ = try await self.ask("get")
    }

    /// Runs it until `body` ends; `state` is where its history is, if it has one, and `reload` is asked for its next file.
    static func run(
        _ machine: String,
        state: String? = nil,
        boot: String = "1",
        clock: ManualStayClock = ManualStayClock(),
        graceMs: Int? = nil,
        reload: (@Sendable () -> String)? = nil,
        _ body: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        let schema = try Self.schema(of: machine)
        let start = Place(seq: 0, value: schema.initial, at: .now, stay: 0)
        if let state { try await Self.awaitRelease(of: state) }
        let history = try state.map {
            try History(
                directory: $0,
                schema: schema,
                options: HistoryOptions(),
                boot: boot,
                clock: clock
            )
        }
        var redeclare: (@Sendable () throws -> Redeclaration)?
        if let reload {
            redeclare = { Redeclaration(try Self.schema(of: reload()), warnings: []) }
        }
        let reread = redeclare
        var limits = ServerLimits()
        if let graceMs { limits.graceMs = graceMs }
        try await withDaemon(limits: limits) { configuration, logger, onReady in
            StateMachineDaemon(
                machine: StateMachine<DeclaredState>(
                    resuming: history?.place ?? start,
                    recording: history
                ),
                past: history,
                schema: schema,
                clock: clock,
                configuration: configuration,
                logger: logger,
                redeclare: reread,
                onReady: onReady
            )
        } body: {
            try await body(DeclaredDaemon(runtime: $0, clock: clock, state: state))
        }
    }

    private static func schema(of machine: String) throws -> Schema {
        let reading = DeclarationReading(Array(machine.utf8))
        guard let declaration = reading.declaration else {
            throw TestFailure("mistakes: \(reading.problems.map { $0.line(in: "machine") })")
        }
        return declaration.schema
    }
}

/// Runs the daemon that `make` makes, until `body` ends, which gets its runtime directory.
func withDaemon(
    limits: ServerLimits,
    _ make: (DaemonConfiguration, Logger, @escaping @Sendable () -> Void) -> any Service,
    body: (String) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let configuration = DaemonConfiguration(runtimeDirectory: directory, limits: limits)
        let daemon = make(configuration, logger) { isReady.finish() }
        let group = ServiceGroup(services: [daemon], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            for await _ in ready {}
            try await body(directory)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

extension DeclaredDaemon {
    /// Waits until the last run has released its history; parts of it end on other threads.
    static func awaitRelease(of state: String) async throws {
        try await blocking {
            let lock = open("\(state)/statemachine.lock", O_RDWR | O_CLOEXEC)
            // There was no earlier run.
            guard lock >= 0 else { return }
            flock(lock, LOCK_EX)
            close(lock)
        }
    }
}

extension JSONLine {
    /// How long until the deadline, from the answer to `get`.
    var leftMs: Int? { self.item("due")?.int("leftMs") }
}
