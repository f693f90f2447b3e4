package import Subprocess
import SystemPackage

/// A statectl that a test reads from while it runs.
///
/// Guarded state: `lines`, used by the one task that reads; that makes `@unchecked Sendable` true.
package final class StatectlProcess: @unchecked Sendable {
    package typealias Lines = SubprocessOutputSequence.StringSequence<UTF8>.AsyncIterator

    private let deliver: @Sendable (Signal) throws -> Void
    private var lines: Lines

    fileprivate init(_ lines: Lines, deliver: @escaping @Sendable (Signal) throws -> Void) {
        self.lines = lines
        self.deliver = deliver
    }

    /// The next line from it, or from a command it runs, on either output.
    package func next() async throws -> String {
        guard let line = try await self.lines.next() else {
            throw TestFailure("statectl ended where a line was expected")
        }
        return line.hasSuffix("\n") ? String(line.dropLast()) : line
    }

    package func send(_ signal: Signal) throws { try self.deliver(signal) }

    /// Runs statectl with `body` beside it; ends it with SIGTERM if `body` fails.
    ///
    /// - Returns: how it ended.
    package static func run(
        _ arguments: [String],
        environment: [Environment.Key: String?] = [:],
        _ body: @escaping @Sendable (StatectlProcess) async throws -> Void
    ) async throws -> TerminationStatus {
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProduct.statectl.path)),
            arguments: Arguments(arguments),
            environment: .inherit.updating(environment),
            input: .none,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            let statectl = StatectlProcess(
                execution.standardOutput.strings().makeAsyncIterator(),
                deliver: { try execution.send(signal: $0) }
            )
            do {
                try await body(statectl)
            } catch {
                // Without it a test that fails would wait for the process for ever.
                try? execution.send(signal: .terminate)
                throw error
            }
        }
        return result.terminationStatus
    }
}

extension DaemonProcess {
    /// Runs statectl against this daemon, and waits for it to end.
    package func statectl(
        _ arguments: String...
    ) async throws -> (output: String, errors: String, status: TerminationStatus) {
        try await self.statectl(arguments)
    }

    /// The same in that environment.
    package func statectl(
        _ arguments: [String],
        environment: [Environment.Key: String?] = [:]
    ) async throws -> (output: String, errors: String, status: TerminationStatus) {
        try await BuiltProduct.statectl.run(
            ["--runtime-directory", self.directory] + arguments,
            environment: environment
        )
    }

    /// What statectl shows on a terminal of that width, which script(1) makes.
    package func shown(_ words: String, width: Int = 80) async throws -> String {
        let statectl = "\(try BuiltProduct.statectl.path) --runtime-directory \(self.directory)"
        let command = "stty cols \(width); \(statectl) --color never \(words)"
        return try await runTool(.name("script"), ["-qec", command, "/dev/null"]).output
    }

    /// Runs statectl against this daemon with `body` beside it; ends it with SIGTERM if `body`
    /// fails.
    ///
    /// - Returns: how it ended.
    package func withStatectl(
        _ arguments: [String],
        _ body: @escaping @Sendable (StatectlProcess) async throws -> Void
    ) async throws -> TerminationStatus {
        try await StatectlProcess.run(["--runtime-directory", self.directory] + arguments, body)
    }
}
