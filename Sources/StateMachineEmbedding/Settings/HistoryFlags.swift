public import ArgumentParser
public import StateMachineHistory

/// Whether and how the state outlives the daemon, on the command line.
package struct HistoryFlags: ParsableArguments {
    @Option(.stateDirectory) var stateDirectory: String?
    @Flag(help: "\(Setting.ephemeral.row.summary)") var ephemeral = false
    @Option(.durability) var durability: HistoryOptions.Durability?
    @Option(.keepChanges) var keepChanges: Int?
    @Option(.keepDays) var keepDays: Int?

    package init() {}
}

extension HistoryOptions.Durability: ExpressibleByArgument {}
