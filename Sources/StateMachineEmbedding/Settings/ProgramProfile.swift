/// What one daemon's front has that another's has not: its name, and what can be set at it.
package struct ProgramProfile: Sendable {
    /// What begins its sentences, and is its log's label.
    package let name: String
    /// Where its configuration file is looked for if none is named.
    package let usualFile: String
    /// What can be set, in this order.
    package let settings: [Setting]

    /// That of a program; its configuration file is in the directory of its name.
    ///
    /// - Parameters:
    ///   - name: what may stand in a file's name.
    ///   - settings: what can be set.
    package init(_ name: String, settings: [Setting]) {
        self.name = name
        self.usualFile = "/etc/\(name)/config.yaml"
        self.settings = settings
    }

    /// The setting of that key, if it is one of these.
    func setting(_ key: String) -> Setting? {
        Setting(rawValue: key).flatMap { self.settings.contains($0) ? $0 : nil }
    }
}
