import ArgumentParser
import Dispatch
import FoundationEssentials
import Glibc
import Logging
import ServiceLog
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineServer
import SystemPackage

/// The daemon for a machine that a file declares, or for the stock states.
@main
struct StateMachineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statemachine",
        abstract: "Holds an application's state and tells everything around it at once.",
        discussion: """
            Clients connect to control.sock (all operations) or events.sock (reading) in the runtime \
            directory, and talk in JSON lines. Send "help" to either.

            Whatever can be set here can be set in the environment, as STATEMACHINE_MAX_WATCHES=8, \
            or in the configuration file, as "max-watches: 8". Flags come before the environment, \
            and that before the file.
            """,
        version: StateMachineVersion.current
    )

    @Option(
        help: ArgumentHelp(
            """
            The configuration file. (default: $\(Setting.fileVariable), else \
            \(ConfigurationFile.usualPath) if it is there)
            """,
            valueName: "file"
        ),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Flag(help: "Print what is in force and where each value came from, and end.")
    var checkConfig = false

    @Option(.machine) var machine: String?
    @Option(.instance) var instance: String?
    @Option(.runtimeDirectory) var runtimeDirectory: String?
    @Option(.logLevel) var logLevel: LogLevel?
    @Option(.logTransitions) var logTransitions: Int?

    @OptionGroup(title: "History")
    var history: HistoryFlags

    @OptionGroup(title: "Limits")
    var limits: LimitOptions

    /// What is in force; reads environment and file afresh.
    ///
    /// - Throws: `ConfigurationError` if something cannot be meant.
    func settings(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationError) -> Settings {
        try Settings(
            command: self,
            environment: environment,
            file: .read(self.config ?? environment[Setting.fileVariable])
        )
    }

    static func main() {
        StandardDescriptors.prepare()
        var command: any ParsableCommand
        do {
            command = try self.parseAsRoot()
        } catch {
            self.refuse(error)
        }
        do {
            try command.run()
        } catch {
            self.exit(withError: error)
        }
    }

    /// Ends the process: the command line cannot be meant, or asks for nothing but a text.
    private static func refuse(_ error: any Error) -> Never {
        let status = self.exitCode(for: error)
        guard !status.isSuccess else { self.exit(withError: error) }
        let failure = DaemonError(self.message(for: error), exitStatus: status.rawValue)
        self.end {
            await failure.tell()
            self.exit(withError: error)
        }
    }

    func run() throws {
        guard !self.checkConfig else { return try self.report() }
        let settings: Settings
        do {
            settings = try self.settings()
        } catch {
            for problem in error.problems {
                LogOutput.standardError.write(sentence: "statemachine: \(problem.printable)")
            }
            let failure = DaemonError(error)
            Self.end {
                await failure.tell()
                return failure.exitStatus
            }
        }
        Self.end { await self.runDaemon(settings) }
    }

    /// What `--check-config` asks for.
    private func report() throws {
        do {
            let settings = try self.settings()
            try self.complain(settings.warnings)
            if let declared = try DeclaredMachine.read(settings) {
                try self.complain(declared.warnings)
            }
            let report = try settings.report(
                environment: ProcessInfo.processInfo.environment,
                isRoot: geteuid() == 0
            )
            try FileDescriptor.standardOutput.writeAll(report.utf8)
        } catch let error as ConfigurationError {
            try self.complain(error.problems)
            throw ExitCode(EX_CONFIG)
        } catch let error as DaemonError {
            try self.complain([error.description])
            throw ExitCode(EX_CONFIG)
        }
    }

    private func complain(_ sentences: [String]) throws {
        for sentence in sentences {
            let line = "statemachine: \(sentence.printable)\n"
            try FileDescriptor.standardError.writeAll(line.utf8)
        }
    }

    /// Ends the process with the status that `body` returns.
    private static func end(with body: @escaping @MainActor () async -> CInt) -> Never {
        // On the main actor from the first line: `runUntilSignalled` says why.
        Task { @MainActor in
            let status = await body()
            LogOutput.standardError.flush()
            // Not exit(3): it waits for the lock of a stderr that a thread may be writing to, for ever
            // if nobody reads it.
            _exit(status)
        }
        dispatchMain()
    }

    /// Returns the exit status.
    @MainActor
    private func runDaemon(_ settings: Settings) async -> CInt {
        let threshold = LogThreshold(settings.logLevel)
        let logger = Logger.service(label: "statemachine", threshold: threshold)
        for warning in settings.warnings { logger.warning("\(warning)") }
        // A file that may not grow is an error of that write, not the end of the process.
        signal(SIGXFSZ, SIG_IGN)
        do {
            let configuration = DaemonConfiguration(
                runtimeDirectory: settings.text(.runtimeDirectory),
                limits: settings.limits,
                reload: {
                    let settings = try self.reloaded()
                    threshold.level = settings.logLevel
                    return settings.limits
                }
            )
            if let declared = try DeclaredMachine.read(settings) {
                for warning in declared.warnings { logger.warning("\(warning)") }
                try await self.serve(declared.coding, settings, configuration, logger) {
                    let declared = try DeclaredMachine.reread(self.reloaded())
                    return Redeclaration(declared.coding, warnings: declared.warnings)
                }
            } else {
                let coding = StateCoding<AppState>()
                try await self.serve(coding, settings, configuration, logger) {
                    if try DeclaredMachine.read(self.reloaded()) != nil { throw SuccessionNeeded() }
                    return Redeclaration(coding, warnings: [])
                }
            }
        } catch is SuccessionNeeded {
            return SuccessionNeeded.exitStatus
        } catch {
            Self.log(error, logger)
            let failure = DaemonError(error)
            // The daemon has told of its own errors.
            if !(error is DaemonError) { await failure.tell(logger) }
            return failure.exitStatus
        }
        return EXIT_SUCCESS
    }

    private static func log(_ error: any Error, _ logger: Logger) {
        guard let mistakes = (error as? ConfigurationError)?.problems, mistakes.count > 1 else {
            return logger.critical("not running", metadata: ["error": "\(error)"])
        }
        for mistake in mistakes { logger.error("\(mistake)") }
        logger.critical("not running", metadata: ["problems": "\(mistakes.count)"])
    }

    /// What is in force after a reload, unless that is refused.
    private func reloaded() throws(ReloadRefusal) -> Settings {
        do {
            return try self.settings()
        } catch {
            throw ReloadRefusal(error.problems)
        }
    }

    /// Serves a machine of such states until a signal ends it; `redeclare` reads what declares it anew.
    @MainActor
    private func serve<State: MachineState>(
        _ coding: StateCoding<State>,
        _ settings: Settings,
        _ configuration: DaemonConfiguration,
        _ logger: Logger,
        redeclare: @escaping @Sendable () throws -> Redeclaration<State>
    ) async throws {
        let daemon = StateMachineDaemon(
            machine: try self.machine(coding, settings, logger: logger),
            coding: coding,
            configuration: configuration,
            logger: logger,
            redeclare: redeclare
        )
        try await daemon.runUntilSignalled()
    }

    /// The machine as the last daemon left it, or a new one.
    private func machine<State: MachineState>(
        _ coding: StateCoding<State>,
        _ settings: Settings,
        logger: Logger
    ) throws -> StateMachine<State> {
        guard let directory = settings.stateDirectory(ProcessInfo.processInfo.environment) else {
            logger.info("ephemeral: the state lives as long as the daemon")
            return StateMachine(resuming: Snapshot(seq: 0, state: coding.initial, at: .now))
        }
        let history = try StartTimeout.extended {
            try SQLiteHistory(
                directory: directory,
                coding: coding,
                options: settings.historyOptions
            )
        }
        switch history.loss {
        case nil: break
        case .corrupt(let setAside):
            logger.warning(
                "the history was corrupt and is set aside, beginning a new epoch",
                metadata: ["file": "\(setAside)"]
            )
        case .missing(let database):
            logger.warning(
                "the history is gone, beginning a new epoch",
                metadata: ["file": "\(database)"]
            )
        case .restored(let database):
            logger.warning(
                "the history is an older copy or another one, beginning a new epoch",
                metadata: ["file": "\(database)"]
            )
        }
        if let carriedOver = history.carriedOver { logger.log(carriedOver) }
        return history.makeMachine()
    }
}

extension LogLevel: ExpressibleByArgument {}
