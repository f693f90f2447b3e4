/// What differs between daemon programs: the name, and what can be set.
package struct ProgramProfile: Sendable {
    /// What its sentences begin with, and its log's label.
    package let name: String
    /// The path of its configuration file if none is named.
    package var defaultFile: String { "/etc/\(self.directory)/config.yaml" }
    private let directory: String
    /// What can be set, in this order.
    package let settings: [Setting]

    /// The profile of a program.
    ///
    /// - Parameters:
    ///   - name: what may stand in a file's name.
    ///   - directory: the name of the directory that its configuration file is in; nil: the program's.
    ///   - settings: what can be set.
    package init(_ name: String, configuredIn directory: String? = nil, settings: [Setting]) {
        self.name = name
        self.directory = directory ?? name
        self.settings = settings
    }

    /// The setting of that key, if it is one of these.
    func setting(_ key: String) -> Setting? {
        Setting(rawValue: key).flatMap { self.settings.contains($0) ? $0 : nil }
    }
}
