import Foundation
import Logging
import ServiceLifecycle
import StateMachineCore
import StateMachineServer
import TestSupport

/// The specification's examples, with which a server's lines are compared.
struct ExampleLines {
    let lines: [String]
    private let shapes: Set<String>

    /// The lines of those files of examples.
    init(_ names: String...) throws {
        // They are a resource of another test target, so they are read from the sources.
        let directory = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../StateMachineProtocolTests/Fixtures").standardized
        self.lines = try names.flatMap { name -> [String] in
            let url = directory.appending(path: "\(name).jsonl")
            let text = try String(contentsOf: url, encoding: .utf8)
            return text.utf8.split(separator: UInt8(ascii: "\n")).map { String(Substring($0)) }
        }
        self.shapes = Set(self.lines.map(Self.shape))
    }

    /// Whether a line is one of the examples, except for numbers, times, cursors, and the programs
    /// that run the tests.
    func show(_ line: JSONLine) -> Bool { self.shapes.contains(Self.shape(line.description)) }

    private static func shape(_ line: String) -> String {
        line.replacing(/"cursor":"[^"]*"/, with: ##""cursor":"#""##).replacing(/[0-9]+/, with: "#")
            .replacing(/,"(comm|unit)":"([^"\\]|\\.)*"/, with: "")
            .replacing(/,"(ageMs|stayMs|began)":("[^"]*"|#)/, with: "")
    }
}

/// A daemon for the stock state in the tests' own process.
struct ExampleDaemon: Sendable {
    let directory: String
    let machine: StateMachine<AppState>
    private let group: ServiceGroup

    func connect(_ door: String = "control") throws -> LineSocket {
        try LineSocket(connectingTo: "\(self.directory)/\(door).sock")
    }

    /// Shuts it down, so that it says `bye` to everybody.
    func shutDown() async { await self.group.triggerGracefulShutdown() }

    /// Runs one around `body`, and ends it.
    static func run(
        _ state: AppState = .initial,
        limits: ServerLimits = ServerLimits(),
        _ body: @escaping @Sendable (ExampleDaemon) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            let machine = StateMachine(state)
            let daemon = StateMachineDaemon(
                machine: machine,
                configuration: DaemonConfiguration(runtimeDirectory: directory, limits: limits),
                logger: logger,
                onReady: { isReady.finish() }
            )
            let group = ServiceGroup(services: [daemon], logger: logger)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                for await _ in ready {}
                try await body(
                    ExampleDaemon(directory: directory, machine: machine, group: group)
                )
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }
}
