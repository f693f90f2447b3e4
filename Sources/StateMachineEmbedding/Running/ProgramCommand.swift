import ArgumentParser
import StateMachineProtocol

/// The command line of a program that has its states in it.
struct ProgramCommand<Program: StateMachineProgram>: DaemonCommand {
    static var front: ProgramProfile {
        ProgramProfile(
            Program.programName,
            settings: Setting.allCases.filter { $0 != .machine && $0 != .instance }
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
        _ = try self.coding()
        return []
    }

    func serve(_ start: DaemonStart) async throws {
        try await start.serve(
            self.coding(),
            making: Program.makeMachine,
            prepare: Program.prepare
        )
    }

    private func coding() throws(ConfigurationError) -> StateCoding<Program> {
        let coding = StateCoding<Program>()
        guard coding.problems.isEmpty else { throw ConfigurationError(coding.problems) }
        return coding
    }
}
