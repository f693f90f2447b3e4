import Configuration

/// One of the sources that are laid over one another.
struct SettingLayer {
    private let provider: any ConfigProvider
    private let origin: (Setting) -> SettingOrigin
    /// What was written, for an error to quote, and what it was written for.
    private let written: (Setting) -> (name: String, text: String)

    init(flags: DaemonFlags, own: [Setting: ConfigContent]) {
        let given = Setting.allCases.compactMap { setting in
            setting.row.given(flags).map { (setting, $0) }
        }
        let contents = own.merging(given) { own, _ in own }
        self.provider = InMemoryProvider(name: "flags", contents: contents)
        self.origin = { _ in .flag }
        self.written = { ($0.flag, contents[$0].map(\.text) ?? "") }
    }

    init(environment: [String: String]) {
        self.provider = EnvironmentVariablesProvider(environmentVariables: environment)
        self.origin = { .environment($0.variable) }
        self.written = { ($0.variable, environment[$0.variable] ?? "") }
    }

    init(file: ConfigurationFile) {
        let origin = { (setting: Setting) in
            SettingOrigin.file(path: file.path, line: file.entries[setting]?.line ?? 0)
        }
        self.provider = InMemoryProvider(
            name: file.path,
            contents: file.entries.mapValues(\.content)
        )
        self.origin = origin
        self.written = { ("\(origin($0)): \($0.key)", file.entries[$0]?.text ?? "") }
    }

    /// What this source says of a setting; nil if it says nothing.
    func value(of setting: Setting) -> Result<Settings.Value, ConfigurationError>? {
        let kind = setting.row.kind
        // The provider throws if what it has is of another type.
        let found = Result {
            try self.provider.value(forKey: setting.configKey, type: kind.type).value
        }
        switch found {
        case .success(nil): return nil
        case .success(let value?) where kind.admits(value.content):
            let origin = self.origin(setting)
            return .success(Settings.Value(content: value.content, origin: origin))
        case .success, .failure:
            let (name, text) = self.written(setting)
            return .failure(
                ConfigurationError("\(name) must be \(kind.expected), not \"\(text)\"")
            )
        }
    }
}

extension InMemoryProvider {
    fileprivate init(name: String, contents: [Setting: ConfigContent]) {
        self.init(
            name: name,
            values: Dictionary(
                uniqueKeysWithValues: contents.map { setting, content in
                    (setting.configKey, ConfigValue(content, isSecret: false))
                }
            )
        )
    }
}
