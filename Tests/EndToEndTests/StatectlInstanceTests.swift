import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl with several machines, and inside a command that it runs itself.
@Suite(.bounded)
struct StatectlInstanceTests {
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

    @Test
    func theOneWithoutANameIsCalledUnnamed() async throws {
        try await withTemporaryDirectory { directory in
            let files = FileManager.default
            for name in ["a", "b"] {
                try files.createDirectory(
                    atPath: "\(directory)/\(name)",
                    withIntermediateDirectories: true
                )
            }
            try files.createSymbolicLink(
                atPath: "\(directory)/statemachine",
                withDestinationPath: "\(directory)/a/run"
            )
            _ = try await DaemonProcess.run(in: "\(directory)/a") { _ in
                try FileManager.default.createSymbolicLink(
                    atPath: "\(directory)/a/run/right",
                    withDestinationPath: "\(directory)/b/run"
                )
                _ = try await DaemonProcess.run(in: "\(directory)/b") { _ in
                    for words in [["machines"], ["get", "--all"]] {
                        let shown = try await BuiltProduct.statectl.run(
                            words,
                            environment: [
                                "XDG_RUNTIME_DIR": directory,
                                "STATEMACHINE_RUNTIME_DIRECTORY": nil,
                            ]
                        )
                        let names = shown.output.split(separator: "\n")
                            .compactMap { $0.split(separator: " ").first }
                        #expect(names.filter { $0 == "unnamed" }.count == 1, "\(shown)")
                        #expect(names.contains("right"), "\(shown)")
                    }
                }
            }
        }
    }

    @Test
    func severalMachinesAreToldApart() async throws {
        try await self.run { environment in
            let both = ["-m", "left", "-m", "right"]
            let text = try await BuiltProduct.statectl.run(
                ["get"] + both,
                environment: environment
            )
            let lines = text.output.split(separator: "\n")
            #expect(lines.map { $0.prefix(19) } == ["left   ready(true) ", "right  ready(false)"])
            let json = try await BuiltProduct.statectl.run(
                ["get", "--json"] + both,
                environment: environment
            )
            let objects = try json.output.split(separator: "\n").map { try JSONLine(String($0)) }
            #expect(objects.map { $0.string("instance") } == ["left", "right"])
            #expect(objects.map(\.seq) == [1, 0])
            let stats = try await BuiltProduct.statectl.run(
                ["stats", "--json"] + both,
                environment: environment
            )
            #expect(stats.output.split(separator: "\n").count == 2)
        }
    }

    @Test
    func oneThatIsNotThereKeepsNoneOfTheOthersFromBeingShown() async throws {
        try await self.run { environment in
            let got = try await BuiltProduct.statectl.run(
                ["get", "-m", "nix", "-m", "right"],
                environment: environment
            )
            #expect(got.status == .exited(69))
            #expect(got.errors.hasPrefix("statectl: nix: there is no machine \"nix\" (looked for "))
            #expect(got.errors.contains("left, right"), "\(got)")
            #expect(got.output.hasPrefix("right  ready(false)"))
            let all = try await BuiltProduct.statectl.run(
                ["get", "--all"],
                environment: environment
            )
            #expect(all.output.contains("left   ready(true)"), "\(all)")
            #expect(all.output.contains("right  ready(false)"), "\(all)")
            let set = try await BuiltProduct.statectl.run(
                ["set", "ready", "value=true", "-m", "left", "-m", "right"],
                environment: environment
            )
            #expect(set.status == .exited(2))
            #expect(set.errors.contains("this command takes one machine; give --machine once"))
        }
    }

    @Test func aFieldThatAMachineDoesNotHaveIsShownAsNothing() async throws {
        try await self.run { environment in
            let format = ["--format", "{instance}:{title}"]
            let several = try await BuiltProduct.statectl.run(
                ["get", "--all"] + format,
                environment: environment
            )
            #expect(several.output == "left:\nright:\n", "\(several)")
            let one = try await BuiltProduct.statectl.run(
                ["get", "-m", "left"] + format,
                environment: environment
            )
            #expect(one.errors.contains("there is no field {title}"), "\(one)")
        }
    }

    @Test(arguments: [false, true])
    func theChangesOfSeveralMachinesAreInTheOrderOfTheirTimes(isOldestFirst: Bool) async throws {
        try await self.run { environment in
            for (index, name) in ["right", "left", "right", "left", "left"].enumerated() {
                let set = try await BuiltProduct.statectl.run(
                    ["set", "-m", name, "authentication", "--reenter", "--cause", "c\(index)"]
                        + ["phase=idle"],
                    environment: environment
                )
                #expect(set.status == .exited(0), "\(set.errors)")
            }
            let order = isOldestFirst ? ["--oldest-first"] : []
            for format in [["--format", "{cause}"], ["--json"]] {
                let history = try await BuiltProduct.statectl.run(
                    ["history", "--all", "--cause", "c", "-n", "4"] + order + format,
                    environment: environment
                )
                let lines = history.output.split(separator: "\n").prefix(4)
                let causes = try lines.map { line in
                    format.count > 1
                        ? String(line) : try JSONLine(String(line)).string("cause") ?? ""
                }
                let expected = ["c0", "c1", "c2", "c3", "c4"]
                #expect(
                    causes == Array((isOldestFirst ? expected : expected.reversed()).prefix(4))
                )
            }
        }
    }

    @Test
    func severalMachinesAreWatchedAtOnce() async throws {
        try await self.run { environment in
            let arguments = ["watch", "--json", "-m", "left", "-m", "right"]
            let status = try await StatectlProcess.run(arguments, environment: environment) {
                watch in
                let first = try JSONLine(try await watch.next())
                let second = try JSONLine(try await watch.next())
                #expect(
                    Set([first, second].map { $0.string("instance") }) == ["left", "right"]
                )
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

    @Test
    func aCommandIsRunForEachMachineAndToldWhich() async throws {
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
            let each = try await BuiltProduct.statectl.run(
                ["watch", "-m", "left", "-m", "right", "--each", "--exec", "true"],
                environment: environment
            )
            #expect(each.status == .exited(2))
            #expect(each.errors.contains("--each works with one machine only"))
        }
    }

    @Test
    func aClientInACommandAsksTheSameDaemon() async throws {
        try await self.run { environment in
            let statectl = try BuiltProduct.statectl.path
            let held = try await BuiltProduct.statectl.run(
                ["hold", "-m", "left", "--before", "authentication", "--", statectl, "get"],
                environment: environment
            )
            #expect(held.output.hasPrefix("ready(true)"), "\(held)")
            let watched = try await BuiltProduct.statectl.run(
                ["watch", "-m", "left", "--count", "1", "--exec", statectl, "get"],
                environment: environment
            )
            #expect(watched.output.hasPrefix("ready(true)"), "\(watched)")
        }
    }
}
