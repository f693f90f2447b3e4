import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl watching several machines.
@Suite(.bounded) struct StatectlInstanceTests {
    /// Runs two daemons, and `body` with an environment where they are this user's instances `left`
    /// and `right`.
    private func run(
        _ body: @escaping @Sendable ([Environment.Key: String?]) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let files = FileManager.default
            for name in ["statemachine", "a", "b"] {
                try files.createDirectory(
                    atPath: "\(directory)/\(name)",
                    withIntermediateDirectories: true
                )
            }
            for (name, place) in [("left", "a"), ("right", "b")] {
                try files.createSymbolicLink(
                    atPath: "\(directory)/statemachine/\(name)",
                    withDestinationPath: "\(directory)/\(place)/run"
                )
            }
            let environment: [Environment.Key: String?] = [
                "XDG_RUNTIME_DIR": directory, "STATEMACHINE_RUNTIME_DIRECTORY": nil,
                // That of some unit in which statectl runs.
                "RUNTIME_DIRECTORY": "\(directory)/elsewhere",
            ]
            _ = try await DaemonProcess.run(in: "\(directory)/a") { left in
                _ = try await left.ask(\.control, "set ready value=true")
                _ = try await DaemonProcess.run(in: "\(directory)/b") { _ in
                    try await body(environment)
                }
            }
        }
    }

    /// The variable names the machine's own directory to the command.
    @Test func aCommandFindsTheMachinesBesideItsOwn() async throws {
        try await self.run { environment in
            var environment = environment
            let base = "\(try #require(environment["XDG_RUNTIME_DIR"] ?? nil))/statemachine"
            #expect(chmod(base, 0o755) == 0)
            environment["XDG_RUNTIME_DIR"] = .some(nil)
            environment["STATEMACHINE_RUNTIME_DIRECTORY"] = base
            let right = "\(try BuiltProduct.statectl.path) -m right get --format {state}"
            let found = try await BuiltProduct.statectl.run(
                ["-m", "left", "watch", "--count", "1", "--exec", "sh", "-c", right],
                environment: environment
            )
            #expect(found.output == "ready\n", "\(found.errors)")
        }
    }

    @Test func severalMachinesAreWatchedAtOnce() async throws {
        try await self.run { environment in
            let arguments = ["watch", "--json", "-m", "left", "-m", "right"]
            let status = try await StatectlProcess.run(arguments, environment: environment) {
                watch in
                let first = try JSONLine(try await watch.next())
                let second = try JSONLine(try await watch.next())
                #expect(Set([first, second].map { $0.string("instance") }) == ["left", "right"])
                let set = try await BuiltProduct.statectl.run(
                    ["-m", "right", "set", "ready", "value=true"],
                    environment: environment
                )
                #expect(set.status == .exited(0))
                let change = try JSONLine(try await watch.next())
                #expect(change.string("instance") == "right")
                #expect(change.seq == 1)
                try watch.send(.terminate)
            }
            #expect(status == .signaled(15))
        }
    }

    @Test func aCommandIsRunForEachMachineAndToldWhich() async throws {
        try await self.run { environment in
            let script = #"read line; echo "$STATEMACHINE_INSTANCE ${line##*,}""#
            let arguments = ["watch", "-m", "left", "-m", "right", "--exec", "sh", "-c", script]
            let status = try await StatectlProcess.run(arguments, environment: environment) {
                watch in
                let first = [try await watch.next(), try await watch.next()].sorted()
                #expect(first == [#"left "instance":"left"}"#, #"right "instance":"right"}"#])
                let set = try await BuiltProduct.statectl.run(
                    ["-m", "right", "set", "ready", "value=true"],
                    environment: environment
                )
                #expect(set.status == .exited(0))
                #expect(try await watch.next() == #"right "instance":"right"}"#)
                try watch.send(.terminate)
            }
            #expect(status == .signaled(15))
        }
    }

    /// `left` is ready(true), `right` is ready(false).
    @Test(
        arguments: [
            ("machines ready:value=true", 0, "left"), ("machines dataRetrieval", 1, ""),
            ("machines ready", 0, "left right"), ("machines nosuch", 2, ""),
            ("get --all ready:value=true", 0, "left"), ("get --all dataRetrieval", 1, ""),
            ("get -m left -m right !ready:value=true", 0, "right"), ("get --all nosuch", 2, ""),
            ("get -m left ready", 2, ""), ("is --all ready", 0, "left right"),
            ("is --all ready:value=true", 1, "left right"), ("is -q --all ready", 0, ""),
            ("is --all ready --for 0", 0, "left right"), ("is --all nosuch", 2, ""),
        ] as [(String, CInt, String)]
    )
    func patternsSelectMachines(words: String, status: CInt, names: String) async throws {
        try await self.run { environment in
            let shown = try await BuiltProduct.statectl.run(
                words.split(separator: " ").map(String.init),
                environment: environment
            )
            #expect(shown.status == .exited(status), "\(shown.errors)")
            let lines = shown.output.split(separator: "\n").compactMap {
                $0.split(separator: " ").first
            }
            #expect(lines.map(String.init).sorted().joined(separator: " ") == names)
        }
    }
}
