import Foundation
import StateMachineServer
import Subprocess
import TestSupport
import Testing

@testable import StateMachineEmbedding
@testable import statemachine

@Suite(.bounded) struct ConfigurationFileTests {
    /// The packaged file: every key, commented out, with its default and its description.
    @Test func thePackagedFileHasEveryKeyWithItsDefaultAndDescription() throws {
        let root = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appending(path: "contrib/config.yaml"),
            encoding: .utf8
        )
        #expect(
            try ConfigurationFile(text, path: "config.yaml", for: StateMachineCommand.front).entries
                .isEmpty
        )

        // A key follows its "#" directly, a description has a blank between.
        let paragraphs = text.split(separator: "\n\n").dropFirst()
        #expect(paragraphs.count == Setting.ofOneHost.count)
        for (setting, paragraph) in zip(Setting.ofOneHost, paragraphs) {
            let lines = paragraph.split(separator: "\n")
            let words = lines.dropLast().map { $0.dropFirst(2) }.joined(separator: " ")
            let summary = setting.row.summary.dropLast()
            #expect(words.hasPrefix(summary), "\(setting.key)")
            let last = try #require(lines.last)
            #expect(last.hasPrefix("#\(setting.key): "))
            let settings = try settings(file: String(last.dropFirst()))
            let directory = setting == .stateDirectory ? "/var/lib" : "/run"
            let place =
                switch setting.row.kind {
                case .file: "/etc/statemachine/machine.yaml"
                case .name, .key: "statemachine"
                case .count, .yes, .choice, .directory, .time, .list: "\(directory)/statemachine"
                }
            let usual = setting.row.kind.defaultValue ?? .text(place)
            #expect(settings.values[setting]?.value == usual, "\(setting.key)")
            #expect(settings.values[setting]?.origin == .file(path: "config.yaml", line: 1))
        }
        let uncommented = text.replacing("\n#", with: "\n").split(separator: "\n")
            .filter { !$0.hasPrefix(" ") && !$0.hasPrefix("#") }
            .joined(separator: "\n")
        #expect(try settings(file: uncommented).limits == ServerLimits())
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
}
