import ArgumentParser
import DeclaredDaemon
import StateMachineCore
import StateMachineEmbedding

/// The daemon for a machine that a file declares, or for the stock states.
@main
struct StateMachineCommand: DaemonCommand {
    static let front = ProgramProfile("statemachine", settings: Setting.ofOneHost)

    static let configuration = CommandConfiguration(
        commandName: "statemachine",
        abstract: "Holds an application's state and notifies everything around it of each change.",
        discussion: Self.discussion,
        version: StateMachineVersion.current
    )

    @Option(configurationOf: Self.front)
    var config: String?

    @Option(.machine) var machine: String?
    @Option(.instance) var instance: String?

    @OptionGroup var flags: DaemonFlags

    var own: [Setting: SettingValue] {
        [Setting.machine: self.machine, .instance: self.instance]
            .compactMapValues { $0.map { .text($0) } }
    }

    static func main() { self.live() }

    func check(_ settings: Settings) throws(ConfigurationError) -> [String] {
        try DeclaredDaemon.check(settings)
    }

    func serve(_ start: DaemonStart) async throws {
        try await DeclaredDaemon { try self.reloaded() }.serve(start)
    }
}
