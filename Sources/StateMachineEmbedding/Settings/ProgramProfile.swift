/// What differs between daemon programs: the name, and what can be set.
package struct ProgramProfile: Sendable {
    /// What its sentences begin with, and its log's label.
    package let name: String
    /// The path of its configuration file if none is named.
    package var defaultFile: String { "/etc/\(self.name)/config.yaml" }
    /// What can be set, in this order.
    package let settings: [Setting]

    /// The profile of a program; its configuration file is in the directory of that name.
    ///
    /// - Parameters:
    ///   - name: what may stand in a file's name.
    ///   - settings: what can be set.
    package init(_ name: String, settings: [Setting]) {
        self.name = name
        self.settings = settings
    }

    /// The setting of that key, if it is one of these.
    func setting(_ key: String) -> Setting? {
        Setting(rawValue: key).flatMap { self.settings.contains($0) ? $0 : nil }
    }
}
