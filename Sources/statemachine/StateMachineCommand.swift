public import ArgumentParser
public import Logging
import StateMachineCore
import StateMachineServer

/// The daemon for the stock state.
@main
struct StateMachineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statemachine",
        abstract: "Holds an application's state and tells everything around it at once.",
        discussion: """
            Clients connect to control.sock (all operations) or events.sock (reading) in the runtime \
            directory, and talk in JSON lines. Send "help" to either.
            """,
        version: StateMachineVersion.current
    )

    @Option(
        help: ArgumentHelp(
            "The directory for the sockets.",
            discussion: """
                By default $RUNTIME_DIRECTORY where systemd sets it, else /run/statemachine for root, \
                else $XDG_RUNTIME_DIR/statemachine.
                """,
            valueName: "dir"
        )
    )
    var runtimeDirectory: String?

    @Option(help: "How much to log: \(Logger.Level.names).")
    var logLevel: Logger.Level = .info

    func run() async throws {
        var logger = Logger(label: "statemachine") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = self.logLevel
        let daemon = StateMachineDaemon<AppState>(
            configuration: DaemonConfiguration(runtimeDirectory: self.runtimeDirectory),
            logger: logger
        )
        do {
            try await daemon.runUntilSignalled()
        } catch {
            logger.critical("not running", metadata: ["error": "\(error)"])
            throw ExitCode.failure
        }
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {
    fileprivate static var names: String {
        Self.allCases.map(\.rawValue).joined(separator: ", ")
    }
}
