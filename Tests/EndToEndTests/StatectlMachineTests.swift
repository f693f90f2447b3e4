import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl with whole machines: the daemon's own, all that exist, and those of the past.
@Suite(.bounded)
struct StatectlMachineTests {
    private static func machine(_ name: String) -> String {
        URL(filePath: #filePath).appending(path: "../../../contrib/machines/\(name).yaml")
            .standardized.path
    }

    private func statectl(
        _ arguments: [String],
        environment: [Environment.Key: String?] = [:]
    ) async throws -> (output: String, errors: String, status: TerminationStatus) {
        try await BuiltProduct.statectl.run(arguments, environment: environment)
    }

    @Test(arguments: ["mermaid", "dot"])
    func theLiveMachineIsDrawnAsItsFileIs(format: String) async throws {
        let file = Self.machine("lamp")
        try await DaemonProcess.run("--machine", file) { daemon in
            _ = try await daemon.ask(\.control, "send press")
            let live = try await daemon.statectl("graph", "--format", format)
            #expect(live.status == .exited(0), "\(live.errors)")
            let drawn = try await daemon.statectl("graph", file, "--format", format)
            let lines = live.output.split(separator: "\n")
            let others = drawn.output.split(separator: "\n")
            // They differ only in the mark of the present state.
            let odd = lines.filter { !others.contains($0) }.map { $0.drop { $0 == " " } }
            #expect(
                odd
                    == (format == "dot"
                        ? [
                            ##"s2 [label="bright", penwidth=3, style="rounded,filled", fillcolor="#FFE9A8"];"##
                        ]
                        : ["classDef present stroke-width:4px,fill:#FFE9A8", "class s2 present"])
            )
        }
    }

    @Test func aMachineThatIsNotDeclaredIsDrawnToo() async throws {
        try await DaemonProcess.run { daemon in
            let drawn = try await daemon.statectl("graph")
            #expect(drawn.status == .exited(0), "\(drawn.errors)")
            #expect(
                drawn.output.hasPrefix(
                    "● ready (present; start)\n    value: boolean\n    set → any\n"
                )
            )
        }
    }

    @Test func machinesAreListedAndFoundByName() async throws {
        try await withTemporaryDirectory { directory in
            let base = "\(directory)/statemachine"
            try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
            // The tests' daemons use a directory `run`, which is then the instance's name.
            let ended = try await DaemonProcess.run(
                in: base,
                arguments: ["--machine", Self.machine("lamp")]
            ) { daemon in
                let environment: [Environment.Key: String?] = [
                    "XDG_RUNTIME_DIR": directory, "STATEMACHINE_RUNTIME_DIRECTORY": nil,
                ]
                let listed = try await statectl(["machines", "--json"], environment: environment)
                #expect(listed.status == .exited(0), "\(listed.errors)")
                let line = listed.output.split(separator: "\n").first {
                    $0.contains(#""directory":"\#(daemon.directory)""#)
                }
                #expect(line?.contains(#""instance":"run""#) == true, "\(listed.output)")
                #expect(
                    line?.contains(#""machine":"lamp","state":"dark","data":{},"seq":0"#) == true
                )
                let text = try await statectl(["machines"], environment: environment)
                #expect(text.output.contains("run   lamp   dark   "), "\(text.output)")
                let got = try await statectl(["-m", "run", "get"], environment: environment)
                #expect(got.output.hasPrefix("dark"), "\(got.errors)")
                let other = try await statectl(
                    ["get", "--machine", "nix"],
                    environment: environment
                )
                #expect(other.status == .exited(69))
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test func theFutureFileEvaluatesThePast() async throws {
        try await withTemporaryDirectory { directory in
            let state = "\(directory)/state"
            let newer = "\(directory)/new.yaml"
            try """
            start: dark
            to: []
            events: {press: {}, move: {}}
            states:
              dark: {when: {press: light}}
              dim: {fields: {level: {type: integer, max: 50, default: 10}}, when: {press: light}, to: [dark]}
              light: {was: bright, when: {press: dark}}
            """.write(toFile: newer, atomically: true, encoding: .utf8)
            let arguments = ["--machine", Self.machine("lamp"), "--state-directory", state]
            let database = "\(state)/statemachine.sqlite"
            let ended = try await DaemonProcess.run(in: directory, arguments: arguments) { daemon in
                for line in [
                    "send press", "send press", "set dim level=80", "set dark", "send move",
                    "set dark",
                ] {
                    #expect(try await daemon.ask(\.control, line).ok == true)
                }
                // Its daemon keeps running meanwhile.
                let running = try await statectl(["replay", newer, database])
                #expect(running.status == .exited(1), "\(running.errors)")
                #expect(
                    running.output == """
                        #3  dark → dim(level: 80): the recorded state does not fit "dim": level=80: must be at most 50
                        #5  dark → dim(level: 20): "dim" may not be set from "dark", and no event leads there; nothing may be set from it
                        2 of 6 changes would not be allowed

                        """
                )
            }
            #expect(ended.status == .exited(0))
            // No files appear beside a closed database.
            let before = try FileManager.default.contentsOfDirectory(atPath: state).sorted()
            let old = try await statectl(["replay", Self.machine("lamp"), state])
            #expect(old.output == "6 changes, all of which would be allowed\n")
            #expect(old.status == .exited(0), "\(old.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: state).sorted() == before)
            for wrong in ["\(directory)/none", newer, directory] {
                let refused = try await statectl(["replay", newer, wrong])
                #expect(refused.status == .exited(2), "\(refused.errors)")
            }
        }
    }
}
