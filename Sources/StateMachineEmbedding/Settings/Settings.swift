import Logging
import ServiceLog
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineServer

/// The settings in force, and each value's origin: flags over environment over file.
package struct Settings {
    package struct Value {
        package let value: SettingValue
        package let origin: SettingOrigin
        /// What was written, for an error to quote.
        let text: String

        /// `text`: nil if it is written as the value reads.
        init(_ value: SettingValue, _ origin: SettingOrigin, text: String? = nil) {
            (self.value, self.origin, self.text) = (value, origin, text ?? value.text)
        }
    }

    let front: ProgramProfile

    /// Only values that were given or have a default known before the start.
    private(set) var values: [Setting: Value] = [:]

    /// Sentences about variables that look like ours and are not.
    ///
    /// Not errors: whatever `statectl` runs gets such variables too, which may include a daemon.
    package let warnings: [String]

    /// Lays the sources over one another.
    ///
    /// A value is checked even if one above it hides it: what is wrong is reported before it
    /// counts.
    ///
    /// - Parameters:
    ///   - front: says what can be set.
    ///   - flags: the flags that every daemon has.
    ///   - own: the values of further flags.
    ///   - environment: the process's environment.
    ///   - file: nil if there is none.
    /// - Throws: `ConfigurationError` with all that is wrong.
    init(
        for front: ProgramProfile,
        flags: DaemonFlags,
        own: [Setting: SettingValue],
        environment: [String: String],
        file: ConfigurationFile?
    ) throws(ConfigurationError) {
        self.front = front
        var problems = file?.problems ?? []
        for setting in front.settings {
            let kind = setting.row.kind
            let given = [
                (own[setting] ?? setting.row.given(flags)).map { Value($0, .flag) },
                environment[setting.variable].map {
                    Value(kind.value(of: $0), .environment(setting.variable), text: $0)
                },
                file?.entries[setting],
            ]
            for value in given.compactMap(\.self) {
                if !kind.admits(value.value) {
                    let name = value.origin.name(of: setting)
                    problems.append("\(name) must be \(kind.expected), not \"\(value.text)\"")
                } else if self.values[setting] == nil {
                    self.values[setting] = value
                }
            }
            if self.values[setting] == nil, let value = kind.defaultValue {
                self.values[setting] = Value(value, .builtIn)
            }
        }
        // A variable that is passed over would leave the machine to this host alone.
        let engine = Setting.engineEndpoints
        if front.settings.contains(.machine), !front.settings.contains(engine),
            environment[engine.variable] != nil
        {
            problems.append(front.needsPackage(engine, called: engine.variable))
        }
        self.warnings = Self.unknownVariables(in: environment, among: front.settings)
        guard problems.isEmpty else { throw ConfigurationError(problems) }
    }

    private static func unknownVariables(
        in environment: [String: String],
        among settings: [Setting]
    ) -> [String] {
        let known = settings.map(\.variable) + [Setting.fileVariable]
        return environment.keys.sorted()
            .filter { $0.hasPrefix(Setting.variablePrefix) && !known.contains($0) }
            .map { variable in
                "the environment variable \(variable) is not a setting and is ignored"
                    + (NearestName.of(variable, among: known)
                        .map { "; did you mean \($0)?" } ?? "")
            }
    }

    package func text(_ setting: Setting) -> String? {
        guard case .text(let value)? = self.values[setting]?.value else { return nil }
        return value
    }

    /// Whether it was set, and not only has its default.
    package func isGiven(_ setting: Setting) -> Bool {
        self.values[setting].map { $0.origin != .builtIn } ?? false
    }

    package func isOn(_ setting: Setting) -> Bool {
        guard case .flag(let value)? = self.values[setting]?.value else { return false }
        return value
    }

    /// The time of a setting that has one.
    package func time(_ setting: Setting) -> Duration? {
        self.text(setting).flatMap { try? TimeText.duration($0) }
    }

    /// What sentences call a setting, with its value: `check-interval 1s`.
    package func named(_ setting: Setting) -> String {
        "\(setting.key) \(self.values[setting]?.value.text ?? "none")"
    }

    func count(_ setting: Setting) -> Int? {
        guard case .number(let value)? = self.values[setting]?.value else { return nil }
        return value
    }

    var limits: ServerLimits {
        var limits = ServerLimits()
        for setting in self.front.settings {
            guard let limit = setting.row.limit, let value = self.count(setting) else { continue }
            limits[keyPath: limit] = value
        }
        return limits
    }

    var logLevel: Logger.Level {
        (self.text(.logLevel).flatMap(LogLevel.init(rawValue:)) ?? .info).level
    }
}

extension Settings {
    /// The history's directory; nil if there is to be no history.
    func stateDirectory(_ environment: [String: String]) -> String? {
        guard !self.isOn(.ephemeral) else { return nil }
        return self.text(.stateDirectory) ?? Self.ofSystemd(environment)
    }

    /// systemd lists several directories with colons; the first is ours.
    static func ofSystemd(_ environment: [String: String]) -> String? {
        environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    }

    var historyOptions: HistoryOptions {
        var options = HistoryOptions()
        if let durability = self.text(.durability).flatMap(HistoryOptions.Durability.init) {
            options.durability = durability
        }
        if let keepChanges = self.count(.keepChanges) { options.keepChanges = keepChanges }
        if let keepDays = self.count(.keepDays) { options.keepDays = keepDays }
        if let keepBytes = self.count(.keepBytes) { options.keepBytes = keepBytes }
        return options
    }
}

extension Settings {
    /// The settings in force, in the form of the configuration file, each line with its origin.
    ///
    /// - Throws: `DaemonError` if nothing says where the sockets are to be.
    func report(environment: [String: String], isRoot: Bool) throws(DaemonError) -> String {
        var lines: [(text: String, origin: String)] = []
        for setting in self.front.settings {
            if let value = self.values[setting] {
                lines.append(("\(setting.key): \(value.value.yaml)", "\(value.origin)"))
            } else if setting == .runtimeDirectory {
                let path = try RuntimeDirectory.ofDaemon(
                    environment: { environment[$0] },
                    isRoot: isRoot
                ).path
                let isOfSystemd = RuntimeDirectory.ofService { environment[$0] } != nil
                lines.append(
                    (
                        "\(setting.key): \(path.yaml)",
                        isOfSystemd ? "RUNTIME_DIRECTORY of systemd" : "\(SettingOrigin.builtIn)"
                    )
                )
            } else if setting == .stateDirectory, let path = Self.ofSystemd(environment) {
                lines.append(("\(setting.key): \(path.yaml)", "STATE_DIRECTORY of systemd"))
            }
        }
        let width = lines.map(\.text.count).max() ?? 0
        return lines.map { line in
            let gap = String(repeating: " ", count: width - line.text.count)
            return "\(line.text)\(gap)  # \(line.origin.printable)\n"
        }.joined()
    }
}
