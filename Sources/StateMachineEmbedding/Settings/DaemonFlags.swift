public import ArgumentParser
import ServiceLog
public import StateMachineHistory

/// The options of every daemon, whatever its states are.
package struct DaemonFlags: ParsableArguments {
    @Flag(help: "Print the settings in force and where each comes from, and end.")
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
                if it exists)
                """,
                valueName: "file"
            ),
            completion: .file(extensions: ["yaml"])
        )
    }
}

/// Whether and how the state outlives the daemon, on the command line.
package struct HistoryFlags: ParsableArguments {
    @Option(.stateDirectory) var stateDirectory: String?
    @Flag(help: "\(Setting.ephemeral.row.summary)") var ephemeral = false
    @Option(.durability) var durability: HistoryOptions.Durability?
    @Option(.keepChanges) var keepChanges: Int?
    @Option(.keepDays) var keepDays: Int?
    @Option(.keepBytes) var keepBytes: Int?

    package init() {}
}

extension HistoryOptions.Durability: ExpressibleByArgument {}

/// The limits that can be set on the command line; `describe` shows all of them as they are.
package struct LimitOptions: ParsableArguments {
    @Option(.maxConnections) var maxConnections: Int?
    @Option(.reservedConnections) var reservedConnections: Int?
    @Option(.controlConnections) var controlConnections: Int?
    @Option(.maxConnectionsPerUid) var maxConnectionsPerUid: Int?
    @Option(.acceptRate) var acceptRate: Int?
    @Option(.acceptBurst) var acceptBurst: Int?
    @Option(.maxWatches) var maxWatches: Int?
    @Option(.maxWaits) var maxWaits: Int?
    @Option(.maxHolds) var maxHolds: Int?
    @Option(.maxGuards) var maxGuards: Int?
    @Option(.maxReplies) var maxReplies: Int?
    @Option(.ringChanges) var ringChanges: Int?
    @Option(.ringBytes) var ringBytes: Int?

    package init() {}
}
