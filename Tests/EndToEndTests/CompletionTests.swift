import Foundation
import Subprocess
import TestSupport
import Testing

/// What the completion scripts ask statectl, and statectl asks the daemon.
@Suite(.bounded)
struct CompletionTests {
    /// A command line whose last word is to be completed, and the words offered.
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
        // Split as bash splits it.
        Case(
            argument: "positional@1",
            words: ["set", "authentication", "phase", "=", ""],
            offered: phases
        ),
        Case(argument: "positional@1", words: ["set", "nonsense", ""], offered: []),
        Case(
            argument: "positional@0",
            words: ["watch", "ready:"],
            offered: ["ready:value=true", "ready:value=false"]
        ),
        Case(argument: "positional@0", words: ["watch", "!re"], offered: names.map { "!\($0)" }),
        Case(
            argument: "positional@0",
            words: ["watch", "!ready:"],
            offered: ["!ready:value=true", "!ready:value=false"]
        ),
        Case(
            argument: "positional@0",
            words: ["watch", "!ready", ":", ""],
            offered: ["value=true", "value=false"]
        ),
        Case(
            argument: "positional@0",
            words: ["watch", "ready", ":", "va"],
            offered: ["value=true", "value=false"]
        ),
        Case(
            argument: "positional@0",
            words: ["watch", "authentication", ":", "phase", "=", ""],
            offered: phases
        ),
        Case(argument: "--fail", words: ["wait", "ready", "--fail", "nix", ":", ""], offered: []),
    ]

    /// For a declared machine that is in `fetching`.
    static let declared: [Case] = [
        Case(
            argument: "positional@0",
            words: ["send", ""],
            offered: ["job", "disk-low", "drain"]
        ),
        Case(argument: "positional@1", words: ["send", "job", ""], offered: ["id=", "image="]),
        Case(
            argument: "positional@0",
            words: ["update", ""],
            offered: ["id=", "image=", "tries=", "tries+="]
        ),
        Case(
            argument: "positional@1",
            words: ["set", "reporting", ""],
            offered: [
                "id=", "verdict=green", "verdict=red",
            ]
        ),
        Case(
            argument: "positional@0",
            words: ["is", "working", ":", ""],
            offered: ["id=", "image=", "tries="]
        ),
    ]

    /// zsh takes what follows a colon for a description.
    @Test func aColonIsEscapedForZsh() async throws {
        try await DaemonProcess.run { daemon in
            let line = Case(argument: "positional@0", words: ["watch", "ready:"], offered: [])
            let offered = try await Self.offered(line, at: daemon.directory, ["SAP_SHELL": "zsh"])
            // The script for zsh takes a blank for the end.
            #expect(offered.prefix(2) == [#"ready\:value=true"#, #"ready\:value=false"#])
        }
    }

    @Test func whatADeclaredMachineHasIsOffered() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try """
            start: fetching id=1 image=i
            events: {job: {id: string, image: string}, disk-low: {}, drain: {}}
            groups: {working: {states: [fetching]}}
            states:
              offline: {}
              fetching: {fields: {id: string, image: string, tries: {type: integer, default: 0}}}
              reporting: {fields: {id: string, verdict: {values: [green, red]}}}
            """.write(toFile: file, atomically: true, encoding: .utf8)
            try await DaemonProcess.run("--machine", file) { daemon in
                for line in Self.declared {
                    let offered = try await Self.offered(line, at: daemon.directory)
                    #expect(offered == line.offered, "\(line.testDescription)")
                }
                let patterns = Case(argument: "positional@0", words: ["watch", ""], offered: [])
                let offered = try await Self.offered(patterns, at: daemon.directory)
                #expect(offered.first == "offline" && offered.last == "working")
            }
        }
    }

    @Test func theInstanceThatTheLineNamesIsAsked() async throws {
        try await withTemporaryDirectory { directory in
            let base = "\(directory)/statemachine"
            try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
            _ = try await DaemonProcess.run(in: base) { _ in
                let environment: [Environment.Key: String?] = ["XDG_RUNTIME_DIR": directory]
                for flag in [["-m", "run"], ["--machine", "run"], ["--machine=run"]] {
                    let line = Case(
                        argument: "positional@0",
                        words: flag + ["set", ""],
                        offered: Self.names
                    )
                    let offered = try await Self.offered(line, at: "/nowhere", environment)
                    #expect(offered == line.offered)
                }
                let names = Case(argument: "--machine", words: ["set", "-m", ""], offered: [])
                #expect(try await Self.offered(names, at: "/nowhere", environment).contains("run"))
            }
        }
    }

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

    private static func offered(
        _ line: Case,
        at directory: String,
        _ environment: [Environment.Key: String?] = [:]
    ) async throws -> [String] {
        let commands = ["set", "watch", "wait", "send", "update", "is"]
        let command = line.words.first { commands.contains($0) } ?? ""
        let answer = try await BuiltProduct.statectl.run(
            ["---completion", command, "--", line.argument, "\(line.words.count)", "0", "statectl"]
                + line.words,
            environment: environment.merging(
                ["STATEMACHINE_RUNTIME_DIRECTORY": directory, "SAP_SHELL": "bash"]
            ) { own, _ in own }
        )
        #expect(answer.status == .exited(0))
        #expect(answer.errors.isEmpty)
        return answer.output.split(separator: "\n").map(String.init)
    }
}
