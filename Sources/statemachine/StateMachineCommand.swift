import ArgumentParser
import Dispatch
import Glibc
import Logging
import StateMachineCore
import StateMachineServer

/// The daemon for the stock state.
@main
struct StateMachineCommand: ParsableCommand {
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

    @Option(help: "How much to log.")
    var logLevel: LogLevel = .info

    @OptionGroup(title: "Limits")
    var limits: LimitOptions

    func run() {
        // On the main actor from the first line: `runUntilSignalled` says why.
        Task { @MainActor in
            let status = await self.serve()
            // Not exit(3): it waits for the lock of a stderr that a thread may be writing to, for ever
            // if nobody reads it.
            _exit(status)
        }
        dispatchMain()
    }

    /// Returns the exit status.
    @MainActor
    private func serve() async -> CInt {
        let threshold = LogThreshold(self.logLevel.level)
        let logger = Logger.service(label: "statemachine", threshold: threshold)
        let daemon = StateMachineDaemon<AppState>(
            configuration: DaemonConfiguration(
                runtimeDirectory: self.runtimeDirectory,
                limits: self.limits.limits
            ),
            logger: logger
        )
        do {
            try await daemon.runUntilSignalled()
        } catch let error as DaemonError {
            logger.critical("not running", metadata: ["error": "\(error)"])
            return error.exitStatus
        } catch {
            logger.critical("not running", metadata: ["error": "\(error)"])
            return EXIT_FAILURE
        }
        return EXIT_SUCCESS
    }
}

/// The levels of swift-log, as they are spelled on the command line.
enum LogLevel: String, ExpressibleByArgument, CaseIterable {
    case trace
    case debug
    case info
    case notice
    case warning
    case error
    case critical

    var level: Logger.Level {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }
}
