import ArgumentParser
import Logging
import StateMachineServer
import Testing

@testable import StateMachineEmbedding
@testable import statemachine

@Suite struct SettingsTests {
    @Test func whereNobodySaysAnythingTheDefaultsAreTheServers() throws {
        let settings = try settings()
        #expect(settings.limits == ServerLimits())
        #expect(settings.logLevel == .info)
        #expect(settings.text(.runtimeDirectory) == nil)
        #expect(settings.values.values.allSatisfy { $0.origin == .builtIn })
    }

    @Test func flagsComeBeforeTheEnvironmentAndThatBeforeTheFile() throws {
        let file = "max-watches: 1\nmax-waits: 1\nmax-holds: 1\n"
        let settings = try settings(
            ["--max-watches", "3"],
            environment: ["STATEMACHINE_MAX_WATCHES": "2", "STATEMACHINE_MAX_WAITS": "2"],
            file: file
        )
        #expect(settings.limits.watchesPerConnection == 3)
        #expect(settings.limits.waitsPerConnection == 2)
        #expect(settings.limits.holdsPerConnection == 1)
        #expect(settings.limits.guardsPerConnection == ServerLimits().guardsPerConnection)
        #expect(settings.values[.maxWatches]?.origin == .flag)
        #expect(settings.values[.maxWaits]?.origin == .environment("STATEMACHINE_MAX_WAITS"))
        #expect(settings.values[.maxHolds]?.origin == .file(path: "config.yaml", line: 3))
    }

    /// A value other than the default for each setting, and the flag that gives it.
    static let others: [(setting: Setting, value: String)] = Setting.ofOneHost.map { setting in
        switch setting.row.kind {
        case .count(let range, let usual):
            (setting, "\(usual == range.upperBound ? range.lowerBound : usual + 1)")
        case .choice(let values, let usual): (setting, values.first { $0 != usual } ?? "")
        case .directory, .file: (setting, "/elsewhere")
        case .name, .key: (setting, "other")
        case .time: (setting, "7s")
        case .list: (setting, "https://one:2379,https://two:2379")
        case .yes: (setting, "true")
        }
    }

    @Test(arguments: others)
    func everySettingCanBeSetInEveryWay(setting: Setting, value: String) throws {
        let isSwitch = if case .yes = setting.row.kind { true } else { false }
        let ways = [
            try settings(isSwitch ? [setting.flag] : [setting.flag, value]),
            try settings(environment: [setting.variable: value]),
            try settings(file: "\(setting.key): \(value)"),
        ]
        for way in ways { #expect(way.values[setting]?.value.text == value) }
        #expect(Set(ways.compactMap { $0.values[setting]?.origin }).count == ways.count)
    }

    @Test(arguments: Setting.ofOneHost) func everyLimitReachesTheServer(setting: Setting) throws {
        guard let limit = setting.row.limit, case .count(let range, _) = setting.row.kind else {
            return
        }
        for bound in [range.lowerBound, range.upperBound] {
            let settings = try settings([setting.flag, "\(bound)"])
            #expect(settings.limits[keyPath: limit] == bound)
        }
        for beyond in [range.lowerBound - 1, range.upperBound + 1] {
            let expected = "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            #expect(
                try problems(["\(setting.flag)=\(beyond)"])
                    == ["\(setting.flag) \(expected), not \"\(beyond)\""]
            )
            #expect(
                try problems(environment: [setting.variable: "\(beyond)"])
                    == ["\(setting.variable) \(expected), not \"\(beyond)\""]
            )
            #expect(
                try problems(file: "\n\(setting.key): \(beyond)")
                    == ["config.yaml:2: \(setting.key) \(expected), not \"\(beyond)\""]
            )
        }
    }

    @Test func aHiddenMistakeIsAMistake() throws {
        let problems = try problems(["--log-level", "error"], file: "log-level: loud")
        #expect(problems.count == 1)
        #expect(problems.first?.contains("not \"loud\"") == true)
    }

    @Test func aVariableThatIsNoSettingIsToldAndChangesNothing() throws {
        let settings = try settings(
            environment: [
                "STATEMACHINE_MAX_WATCHS": "1", "STATEMACHINE_SEQ": "1", "STATEMACHINE_CONFIG": "x",
                "PATH": "/bin",
            ]
        )
        #expect(
            settings.warnings == [
                "the environment variable STATEMACHINE_MAX_WATCHS is not a setting and is ignored; "
                    + "did you mean STATEMACHINE_MAX_WATCHES?",
                "the environment variable STATEMACHINE_SEQ is not a setting and is ignored",
            ]
        )
        #expect(settings.limits == ServerLimits())
    }

    @Test func whereTheEngineIsIsForAnotherProgram() throws {
        let sentence =
            "is a setting of the program statemachine-cluster; install the package statemachine-cluster, or remove it"
        #expect(
            try problems(environment: ["STATEMACHINE_ENGINE_ENDPOINTS": "https://etcd:2379"])
                == ["STATEMACHINE_ENGINE_ENDPOINTS \(sentence)"]
        )
        #expect(
            try problems(file: "engine-endpoints: https://etcd:2379")
                == ["config.yaml:1: engine-endpoints \(sentence)"]
        )
    }

    @Test func theReportSaysWhereEachValueCameFromAndIsAFileItself() throws {
        let report = try settings(
            ["--max-watches", "3"],
            environment: ["STATEMACHINE_MAX_WAITS": "2"],
            file: """
                max-holds: 1
                runtime-directory: '/run/it''s #1'
                state-directory: /state
                machine: /machine.yaml
                instance: one
                """
        ).report(environment: [:], isRoot: true)
        let lines = report.split(separator: "\n").map { $0.split(separator: "  # ") }
        let origins = Dictionary(
            uniqueKeysWithValues: lines.map {
                ($0[0].trimmingSuffix { $0 == " " }, $0[1])
            }
        )
        #expect(origins.count == Setting.ofOneHost.count)
        #expect(origins["max-watches: 3"] == "flag")
        #expect(origins["max-waits: 2"] == "STATEMACHINE_MAX_WAITS")
        #expect(origins["max-holds: 1"] == "config.yaml:1")
        #expect(origins["runtime-directory: '/run/it''s #1'"] == "config.yaml:2")
        #expect(origins["max-guards: 8"] == "default")

        let again = try settings(file: report)
        #expect(again.values.count == Setting.ofOneHost.count)
        #expect(again.text(.runtimeDirectory) == "/run/it's #1")
        #expect(again.limits.watchesPerConnection == 3)
    }

    @Test func theReportHasNothingThatATerminalObeys() throws {
        let path = "/run/a\u{1B}]0;b\u{7}\"\\\u{202E}c\u{E0041}"
        let report = try settings(["--runtime-directory", path])
            .report(environment: [:], isRoot: true)
        #expect(
            !report.unicodeScalars.contains { $0 != "\n" && ($0.value < 0x20 || $0 == "\u{202E}") }
        )
        #expect(
            report.contains(#"runtime-directory: "/run/a\u001B]0;b\u0007\"\\\u202Ec\U000E0041""#)
        )
        #expect(try settings(file: report).text(.runtimeDirectory) == path)
    }

    @Test func theReportNamesTheDirectoryThatSystemdGives() throws {
        let settings = try settings()
        let ofSystemd = try settings.report(
            environment: ["RUNTIME_DIRECTORY": "/run/a:/run/b"],
            isRoot: true
        )
        #expect(ofSystemd.contains("runtime-directory: /run/a "))
        #expect(ofSystemd.contains("# RUNTIME_DIRECTORY of systemd\n"))
        let ofRoot = try settings.report(environment: [:], isRoot: true)
        #expect(ofRoot.contains("runtime-directory: /run/statemachine  # default\n"))
        #expect(throws: DaemonError.self) { try settings.report(environment: [:], isRoot: false) }
    }
}

extension StringProtocol {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> String {
        var rest = self[...]
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return String(rest)
    }
}

/// Settings from a command line, an environment and the text of a file.
func settings(
    _ arguments: [String] = [],
    environment: [String: String] = [:],
    file: String? = nil
) throws -> Settings {
    let command = try StateMachineCommand.parse(arguments)
    return try Settings(
        for: StateMachineCommand.front,
        flags: command.flags,
        own: command.own,
        environment: environment,
        file: file.map {
            try ConfigurationFile($0, path: "config.yaml", for: StateMachineCommand.front)
        }
    )
}

/// The messages with which these are refused; none if they are accepted.
func problems(
    _ arguments: [String] = [],
    environment: [String: String] = [:],
    file: String? = nil
) throws -> [String] {
    do {
        _ = try settings(arguments, environment: environment, file: file)
        return []
    } catch let error as ConfigurationError {
        return error.problems
    }
}
