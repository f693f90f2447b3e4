import ArgumentParser
import Glibc
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
package import StateMachineServer

/// The command line of a program that has its states in it.
struct ProgramCommand<Program: StateMachineProgram>: DaemonCommand {
    static var front: ProgramProfile {
        ProgramProfile(
            Program.programName,
            settings: Setting.ofOneHost.filter { $0 != .machine && $0 != .instance }
        )
    }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Self.front.name,
            abstract: Program.about,
            discussion: Self.discussion,
            version: Program.version
        )
    }

    @Option(configurationOf: Self.front)
    var config: String?

    @OptionGroup var flags: DaemonFlags

    var own: [Setting: SettingValue] { [:] }

    func check(_ settings: Settings) throws(ConfigurationError) -> [String] {
        _ = try self.schema()
        return []
    }

    func serve(_ start: DaemonStart) async throws {
        try await start.serve(
            self.schema(),
            making: { place, history in
                var options = StateMachine<Program>.Options()
                options.log = history.map { SQLiteHistory($0) }
                return Program.makeMachine(resuming: Snapshot(place), options: options)
            },
            prepare: Program.prepare
        )
    }

    private func schema() throws(ConfigurationError) -> Schema {
        let schema = StateCoding<Program>().schema
        guard schema.problems.isEmpty else { throw ConfigurationError(schema.problems) }
        return schema
    }
}

extension DaemonError {
    /// Whatever keeps the daemon from starting, as it is reported to the service manager.
    package init(_ error: any Error) {
        switch error {
        case let error as DaemonError: self = error
        case let error as ConfigurationError:
            self.init(error.problems.joined(separator: "; "), isLasting: true, errno: error.errno)
        case let error as HistoryError:
            self.init(error.description, isLasting: error.isLasting, errno: error.errno)
        default: self.init("\(error)")
        }
    }
}
