package import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import Processes
import ServiceLog
import StateMachineCore
package import StateMachineServer
import SystemPackage
import Systemd

/// The command line of a daemon, whatever its states are.
package protocol DaemonCommand: ParsableCommand, Sendable {
    static var front: ProgramProfile { get }

    /// The configuration file, if one is named.
    var config: String? { get }

    var flags: DaemonFlags { get }

    /// The values of flags that only this command has.
    var own: [Setting: SettingValue] { get }

    /// Checks what is read besides the settings.
    ///
    /// - Throws: `ConfigurationError` with all that is wrong.
    /// - Returns: warnings of what may not do what was meant.
    func check(_ settings: Settings) throws(ConfigurationError) -> [String]

    /// Serves until a signal ends it.
    ///
    /// - Throws: what keeps it from starting.
    @MainActor func serve(_ start: DaemonStart) async throws
}

extension DaemonCommand {
    /// The part of the help that is the same for every daemon.
    package static var discussion: String {
        """
        Clients connect to control.sock (all operations) or events.sock (reading) in the runtime \
        directory, and talk in JSON lines. Send "help" to either.

        Whatever can be set here can be set in the environment, as STATEMACHINE_MAX_WATCHES=8, \
        or in the configuration file, as "max-watches: 8". Flags come before the environment, \
        and that before the file.
        """
    }

    /// Runs for the process's whole life; called by its main thread before anything is opened.
    package static func live() -> Never {
        ProcessStart.prepare(self.front.name) { why in
            WaitingClients.dismissAndWait(
                HandedDescriptor.takeAll(),
                with: DaemonError.farewell(why)
            )
        }
        do {
            if let objection = ArgumentWords.objection() { throw ValidationError(objection) }
            var command = try self.parseAsRoot(ArgumentWords.all)
            do {
                try command.run()
            } catch {
                self.exit(withError: error)
            }
        } catch {
            self.refuse(error)
        }
        self.exit()
    }

    /// Ends the process: the command line is wrong, or asks only for a text.
    private static func refuse(_ error: any Error) -> Never {
        let status = self.exitCode(for: error)
        guard !status.isSuccess else { self.exit(withError: error) }
        let failure = DaemonError(self.message(for: error), exitStatus: status.rawValue)
        LogOutput.run {
            await failure.tell(self.logger(LogThreshold(.info)))
            self.exit(withError: error)
        }
    }

    private static func logger(_ threshold: LogThreshold) -> Logger {
        .service(label: self.front.name, threshold: threshold)
    }

    package func run() throws {
        guard !self.flags.checkConfig else { return try self.report() }
        let settings: Settings
        do {
            settings = try self.settings()
        } catch {
            for problem in error.problems {
                LogOutput.standardError.write(sentence: Self.sentence(problem))
            }
            let failure = DaemonError(error)
            LogOutput.run {
                await failure.tell(Self.logger(LogThreshold(.info)))
                return failure.exitStatus
            }
        }
        LogOutput.run { await self.runDaemon(settings) }
    }

    private static func sentence(_ problem: String) -> String {
        "\(self.front.name): \(problem.printable)"
    }

    /// The settings in force; reads environment and file anew.
    ///
    /// - Throws: `ConfigurationError` if something is wrong.
    private func settings() throws(ConfigurationError) -> Settings {
        let environment = ProcessInfo.processInfo.environment
        return try Settings(
            for: Self.front,
            flags: self.flags,
            own: self.own,
            environment: environment,
            file: .read(self.config ?? environment[Setting.fileVariable], for: Self.front)
        )
    }

    /// The settings in force after a reload.
    ///
    /// - Throws: `ReloadRefusal` if something is wrong.
    package func reloaded() throws(ReloadRefusal) -> Settings {
        do {
            return try self.settings()
        } catch {
            throw ReloadRefusal(error.problems)
        }
    }

    /// Prints what `--check-config` asks for.
    private func report() throws {
        do {
            let settings = try self.settings()
            try self.complain(settings.warnings)
            try self.complain(self.check(settings))
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
            let line = "\(Self.sentence(sentence))\n"
            try FileDescriptor.standardError.writeAll(line.utf8)
        }
    }

    /// Runs the daemon; returns the exit status.
    @MainActor
    private func runDaemon(_ settings: Settings) async -> CInt {
        let threshold = LogThreshold(settings.logLevel)
        let logger = Self.logger(threshold)
        for warning in settings.warnings { logger.warning("\(warning)") }
        // A file that may not grow fails that write, instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        let configuration = DaemonConfiguration(
            runtimeDirectory: settings.text(.runtimeDirectory),
            limits: settings.limits,
            reload: {
                let settings = try self.reloaded()
                threshold.level = settings.logLevel
                return settings.limits
            }
        )
        do {
            try await self.serve(DaemonStart(settings, configuration, logger))
        } catch is SuccessionNeeded {
            return SuccessionNeeded.exitStatus
        } catch {
            Self.log(error, logger)
            let failure = DaemonError(error)
            // The daemon has reported its own errors.
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
}
