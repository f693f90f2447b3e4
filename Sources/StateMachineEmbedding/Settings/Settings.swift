import Logging
import ServiceLog
import StateMachineServer

/// The settings in force, and each value's origin: flags over environment over file.
package struct Settings {
    package struct Value {
        package let value: SettingValue
        package let origin: SettingOrigin
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
        let layers = [
            SettingLayer(flags: flags, own: own), SettingLayer(environment: environment),
            file.map { SettingLayer(file: $0) },
        ]
        self.front = front
        var problems = file?.problems ?? []
        for setting in front.settings {
            for layer in layers.compactMap(\.self) {
                switch layer.value(of: setting) {
                case nil: break
                case .success(let value):
                    if self.values[setting] == nil { self.values[setting] = value }
                case .failure(let error): problems += error.problems
                }
            }
            if self.values[setting] == nil, let value = setting.row.kind.defaultValue {
                self.values[setting] = Value(value: value, origin: .builtIn)
            }
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
                "the environment variable \(variable) is no setting and changes nothing"
                    + (Setting.nearest(to: variable, among: known)
                        .map { "; did you mean \($0)?" } ?? "")
            }
    }

    package func text(_ setting: Setting) -> String? {
        guard case .text(let value)? = self.values[setting]?.value else { return nil }
        return value
    }

    func isOn(_ setting: Setting) -> Bool {
        guard case .flag(let value)? = self.values[setting]?.value else { return false }
        return value
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
