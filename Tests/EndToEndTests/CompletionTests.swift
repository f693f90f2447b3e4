import Subprocess
import TestSupport
import Testing

/// What the completion scripts ask statectl, which asks the daemon.
@Suite(.timeLimit(.minutes(5)))
struct CompletionTests {
    /// A command line, of which the last word is to be completed, and what is offered.
    struct Case: Sendable, CustomTestStringConvertible {
        let argument: String
        let words: [String]
        let offered: [String]

        var testDescription: String { self.words.joined(separator: " ") }
    }

    static let names = ["ready", "authentication", "dataRetrieval"]
    static let phases = ["idle", "active", "success", "failure"]

    static let cases: [Case] = [
        Case(argument: "positional@0", words: ["set", ""], offered: names),
        Case(argument: "positional@0", words: ["watch", ""], offered: names),
        Case(argument: "--fail", words: ["wait", "ready", "--fail", ""], offered: names),
        Case(
            argument: "positional@1",
            words: ["set", "ready", ""],
            offered: ["value=true", "value=false"]
        ),
        Case(
            argument: "positional@1",
            words: ["set", "authentication", ""],
            offered: phases.map { "phase=\($0)" }
        ),
        // As bash splits it.
        Case(
            argument: "positional@1",
            words: ["set", "authentication", "phase", "=", ""],
            offered: phases
        ),
        Case(argument: "positional@1", words: ["set", "nonsense", ""], offered: []),
    ]

    @Test func statesAndTheirValuesAreOffered() async throws {
        try await DaemonProcess.run { daemon in
            for line in Self.cases {
                let offered = try await Self.offered(line, at: daemon.directory)
                #expect(offered == line.offered)
            }
        }
    }

    @Test func theDaemonThatTheLineNamesIsAsked() async throws {
        try await DaemonProcess.run { daemon in
            for flag in [
                ["--runtime-directory", daemon.directory],
                ["--runtime-directory=\(daemon.directory)"],
                ["--runtime-directory", "=", daemon.directory],
            ] {
                let line = Case(
                    argument: "positional@0",
                    words: flag + ["set", ""],
                    offered: Self.names
                )
                let offered = try await Self.offered(line, at: "/nowhere")
                #expect(offered == line.offered)
            }
        }
    }

    @Test func withoutADaemonNothingIsOffered() async throws {
        for line in Self.cases {
            let offered = try await Self.offered(line, at: "/nowhere")
            #expect(offered.isEmpty)
        }
    }

    private static func offered(_ line: Case, at directory: String) async throws -> [String] {
        let command = line.words.first { ["set", "watch", "wait"].contains($0) } ?? ""
        let answer = try await BuiltProduct.statectl.run(
            ["---completion", command, "--", line.argument, "\(line.words.count)", "0", "statectl"]
                + line.words,
            environment: ["RUNTIME_DIRECTORY": directory, "SAP_SHELL": "bash"]
        )
        #expect(answer.status == .exited(0))
        #expect(answer.errors.isEmpty)
        return answer.output.split(separator: "\n").map(String.init)
    }
}
