import ArgumentParser
import Logging
import StateMachineCore
import StateMachineDeclaration
import StateMachineEmbedding
import StateMachineLinks
import StateMachineProtocol
import StateMachineServer

/// The daemon for a machine that a file declares, or for the stock states.
@main
struct StateMachineCommand: DaemonCommand {
    static let front = ProgramProfile("statemachine", settings: Setting.allCases)

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
        try DeclaredMachine.read(settings)?.warnings ?? []
    }

    func serve(_ start: DaemonStart) async throws {
        if let declared = try DeclaredMachine.read(start.settings) {
            for warning in declared.warnings { start.logger.warning("\(warning)") }
            let watcher = LinkedMachines(
                besides: start.runtimeDirectory ?? "/",
                of: start.settings.text(.instance)
            )
            do {
                try await start.serve(
                    declared.schema,
                    making: { StateMachine<DeclaredState>(resuming: $0, recording: $1) },
                    redeclare: {
                        let declared = try DeclaredMachine.reread(self.reloaded())
                        return Redeclaration(declared.schema, warnings: declared.warnings)
                    },
                    watcher: watcher
                )
            } catch {
                await watcher.end()
                throw error
            }
            await watcher.end()
        } else {
            let schema = StateCoding<AppState>().schema
            try await start.serve(
                schema,
                making: { StateMachine<AppState>(resuming: $0, recording: $1) },
                redeclare: {
                    if try DeclaredMachine.read(self.reloaded()) != nil { throw SuccessionNeeded() }
                    return Redeclaration(schema, warnings: [])
                }
            )
        }
    }
}
