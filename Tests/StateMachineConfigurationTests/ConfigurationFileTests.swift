import Foundation
import StateMachineServer
import TestSupport
import Testing

@testable import StateMachineEmbedding
@testable import statemachine

@Suite struct ConfigurationFileTests {
    @Test(arguments: [
        ("max-waists: 5", #"1: there is no setting "max-waists"; did you mean max-waits?"#),
        ("\nmax_watches: 5", #"2: there is no setting "max_watches"; did you mean max-watches?"#),
        ("LOG-LEVEL: info", #"1: there is no setting "LOG-LEVEL"; did you mean log-level?"#),
        ("colour: red", #"1: there is no setting "colour"; known: runtime-directory, log-level, "#),
        ("? [a]\n: b", #"1: there is no setting "?"; known: "#),
        ("log-level: loud", #"1: log-level must be one of trace, debug, info, "#),
        ("log-level: 5", #"1: log-level must be one of trace"#),
        ("runtime-directory: 5", #"1: runtime-directory must be a path, not "5""#),
        ("runtime-directory: ''", #"1: runtime-directory must be a path, not """#),
        ("max-waits: many", #"1: max-waits must be a whole number from 0 to 1048576, not "many""#),
        ("max-waits: 1.5", #"1: max-waits must be a whole number from 0 to 1048576, not "1.5""#),
        ("max-waits: true", #"1: max-waits must be a whole number from 0 to 1048576, not "true""#),
        ("max-waits: '5'", #"1: max-waits must be a whole number from 0 to 1048576, not "5""#),
        ("max-waits: 0x10", #"1: max-waits must be a whole number from 0 to 1048576, not "0x10""#),
        ("max-waits: 99999999999999999999", #"not "99999999999999999999""#),
        ("max-waits:", "1: max-waits must be a whole number from 0 to 1048576, but has no value"),
        ("max-waits: ~", "1: max-waits must be a whole number from 0 to 1048576, but has no value"),
        ("max-waits: [1]", "a whole number from 0 to 1048576, but has several values"),
        ("max-waits: {a: 1}", "but has several values"),
    ])
    func whatCannotBeMeantIsNamedWithItsLine(text: String, sentence: String) throws {
        let problems = try problems(file: text)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("config.yaml:") == true)
        #expect(problems.first?.contains(sentence) == true, "\(problems)")
    }

    @Test(arguments: [
        (
            "max-waits: 1\nmax-waits: 2",
            "config.yaml:2: max-waits is already given in line 1; keep one"
        ),
        ("a: [", "config.yaml:2: this is not YAML: "),
        ("max-waits: 1\n\tmax-holds: 1", "config.yaml:2: this is not YAML: "),
        ("max-waits: 1\n---\nmax-waits: 1", "config.yaml:2: this is not YAML: "),
        ("max-waits: \u{1}", "config.yaml:1: this is not YAML: "),
    ])
    func whatIsNoYAMLIsSaidInOneLine(text: String, sentence: String) throws {
        let problems = try problems(file: text)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(sentence) == true, "\(problems)")
        #expect(problems.first?.contains("\n") == false)
    }

    @Test(arguments: ["- max-waits: 1", "max-waits", "[]"])
    func whatHasNoKeysIsRefused(text: String) throws {
        #expect(try problems(file: text) == [#"config.yaml:1: write a setting as "key: value""#])
    }

    @Test func aByteOrderMarkSaysNothing() throws {
        let settings = try settings(file: "\u{FEFF}max-waits: 7\nmax-holds: 8\n")
        #expect(settings.limits.waitsPerConnection == 7)
        #expect(settings.limits.holdsPerConnection == 8)
    }

    @Test(arguments: ["007", "1e3", "off"])
    func aNameMayLookLikeSomethingElse(name: String) throws {
        #expect(try settings(file: "instance: \(name)").text(.instance) == name)
    }

    @Test func allThatIsWrongIsSaidAtOnce() throws {
        let problems = try problems(
            ["--max-watches=0"],
            environment: ["STATEMACHINE_MAX_WAITS": "x"],
            file: "colour: red\nmax-holds: many\n"
        )
        #expect(problems.count == 4)
    }

    @Test(arguments: ["", "\n", "# nothing\n", "---\n", "---\n# nothing\n...\n", "{}"])
    func aFileWithoutSettingsIsFine(text: String) throws {
        #expect(try settings(file: text).limits == ServerLimits())
    }

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
        #expect(paragraphs.count == Setting.allCases.count)
        for (setting, paragraph) in zip(Setting.allCases, paragraphs) {
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
                case .name: "statemachine"
                case .count, .yes, .choice, .directory: "\(directory)/statemachine"
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
}
