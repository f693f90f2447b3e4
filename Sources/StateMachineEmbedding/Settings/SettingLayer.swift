/// One of the sources of settings, which are laid over one another.
struct SettingLayer {
    /// The value that it gives a setting; nil if none.
    private let said: (Setting) -> SettingValue?
    private let origin: (Setting) -> SettingOrigin
    /// What was written, for an error to quote, and what it was written for.
    private let written: (Setting) -> (name: String, text: String)

    init(flags: DaemonFlags, own: [Setting: SettingValue]) {
        let given = Setting.allCases.compactMap { setting in
            setting.row.given(flags).map { (setting, $0) }
        }
        let values = own.merging(given) { own, _ in own }
        self.said = { values[$0] }
        self.origin = { _ in .flag }
        self.written = { ($0.flag, values[$0].map(\.text) ?? "") }
    }

    init(environment: [String: String]) {
        self.said = { setting in
            environment[setting.variable].map { setting.row.kind.value(of: $0) }
        }
        self.origin = { .environment($0.variable) }
        self.written = { ($0.variable, environment[$0.variable] ?? "") }
    }

    init(file: ConfigurationFile) {
        let origin = { (setting: Setting) in
            SettingOrigin.file(path: file.path, line: file.entries[setting]?.line ?? 0)
        }
        self.said = { file.entries[$0]?.value }
        self.origin = origin
        self.written = { ("\(origin($0)): \($0.key)", file.entries[$0]?.text ?? "") }
    }

    /// This source's value of a setting; nil if it has none.
    func value(of setting: Setting) -> Result<Settings.Value, ConfigurationError>? {
        guard let value = self.said(setting) else { return nil }
        let kind = setting.row.kind
        guard kind.admits(value) else {
            let (name, text) = self.written(setting)
            return .failure(
                ConfigurationError("\(name) must be \(kind.expected), not \"\(text)\"")
            )
        }
        return .success(Settings.Value(value: value, origin: self.origin(setting)))
    }
}
