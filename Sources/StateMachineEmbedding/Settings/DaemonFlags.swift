package import ArgumentParser
import ServiceLog

/// The options of every daemon, whatever its states are.
package struct DaemonFlags: ParsableArguments {
    @Flag(help: "Print what is in force and where each value came from, and end.")
    var checkConfig = false

    @Option(.runtimeDirectory) var runtimeDirectory: String?
    @Option(.logLevel) var logLevel: LogLevel?
    @Option(.logTransitions) var logTransitions: Int?

    @OptionGroup(title: "History")
    var history: HistoryFlags

    @OptionGroup(title: "Limits")
    var limits: LimitOptions

    package init() {}
}

extension LogLevel: ExpressibleByArgument {}

extension Option<String?> {
    /// The flag that names the configuration file.
    package init(configurationOf front: ProgramProfile) {
        self.init(
            name: .customLong("config"),
            help: ArgumentHelp(
                """
                The configuration file. (default: $\(Setting.fileVariable), else \(front.defaultFile) \
                if it is there)
                """,
                valueName: "file"
            ),
            completion: .file(extensions: ["yaml"])
        )
    }
}
