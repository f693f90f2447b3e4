import Foundation
import Subprocess
import TestSupport
import Testing

/// The built daemon with a configuration file.
@Suite(.bounded)
struct DaemonConfigurationTests {
    @Test func theDaemonRunsWithWhatTheFileSays() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/config.yaml"
            try "max-watches: 2\nring-changes: 7\n".write(
                toFile: path,
                atomically: false,
                encoding: .utf8
            )
            let arguments = ["--config", path, "--ring-changes", "9"]
            _ = try await DaemonProcess.run(in: directory, arguments: arguments) { daemon in
                let description = try await daemon.ask(\.control, "describe")
                #expect(description.item("limits")?.int("watchesPerConnection") == 2)
                #expect(description.item("limits")?.int("ringChanges") == 9)
            }
        }
    }

    @Test func aMistakeIsSaidAndEndsTheStartWith78() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/config.yaml"
            try "log-level: loud\n".write(toFile: path, atomically: false, encoding: .utf8)
            for arguments in [[], ["--check-config"]] {
                let refused = try await BuiltProduct.statemachine.run(
                    ["--config", path, "--runtime-directory", directory] + arguments
                )
                #expect(refused.status == .exited(78))
                #expect(refused.output.isEmpty)
                let sentence = "statemachine: \(path):1: log-level must be one of"
                #expect(refused.errors.hasPrefix(sentence))
            }
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/control.sock"))
        }
    }

    @Test(arguments: ["--config", "STATEMACHINE_CONFIG"])
    func aNamedFileThatIsNotThereIsAMistake(way: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/none.yaml"
            let refused = try await BuiltProduct.statemachine.run(
                way.hasPrefix("--") ? [way, path, "--check-config"] : ["--check-config"],
                environment: way.hasPrefix("--") ? [:] : [.init(stringLiteral: way): path]
            )
            #expect(refused.status == .exited(78))
            #expect(
                refused.errors == "statemachine: cannot read \(path): No such file or directory\n"
            )
        }
    }

    @Test(arguments: [
        ("/dev/zero", "it is longer than 65536 bytes"),
        ("/", "Is a directory"),
        ("", "No such file or directory"),
    ])
    func whatIsNoFileIsRefused(path: String, sentence: String) async throws {
        let refused = try await BuiltProduct.statemachine.run(["--check-config", "--config", path])
        #expect(refused.status == .exited(78))
        #expect(refused.errors == "statemachine: cannot read \(path): \(sentence)\n")
    }

    @Test func checkConfigStartsNothing() async throws {
        try await withTemporaryDirectory { directory in
            let checked = try await BuiltProduct.statemachine.run(
                ["--check-config", "--runtime-directory", directory, "--config", "/dev/null"]
            )
            #expect(checked.status == .exited(0))
            #expect(checked.output.hasPrefix("runtime-directory: \(directory) "))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        }
    }

    @Test func aHangUpTakesTheFileInAnewUnlessItIsWrong() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/config.yaml"
            let write = { @Sendable (text: String) in
                try text.write(toFile: path, atomically: false, encoding: .utf8)
            }
            try write("max-watches: 2\n")
            _ = try await DaemonProcess.run(in: directory, arguments: ["--config", path]) {
                daemon in
                let maxWatches = { @Sendable () async throws in
                    let description = try await daemon.ask(\.control, "describe")
                    return description.item("limits")?.int("watchesPerConnection")
                }
                let hangUp = { @Sendable () async throws in
                    try daemon.send(.init(rawValue: SIGHUP))
                    try await daemon.notify.wait(for: "RELOADING=1")
                    try await daemon.notify.wait(for: "READY=1")
                }
                #expect(try await maxWatches() == 2)
                try write("max-watches: 3\n")
                try await hangUp()
                #expect(try await maxWatches() == 3)
                try write("max-watches: 4\ncolour: red\n")
                try await hangUp()
                #expect(try await maxWatches() == 3)
                try write("max-watches: 4\n")
                try await hangUp()
                #expect(try await maxWatches() == 4)
            }
        }
    }
}
