import ArgumentParser
import Glibc
import Logging
import NIOCore
import Processes
import ServiceLog
import StateMachineClient
import StateMachineCore
import StateMachineProtocol
import StateMachineRunner

extension LogLevel: ExpressibleByArgument {}

/// Runs the commands of a machine that a file declares.
@main
struct RunnerCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "statemachine-runner",
        abstract: "Runs the commands of a machine that a file declares.",
        discussion: """
            A client of the daemon statemachine, at its control socket. Runs the commands of the present state as \
            transient units of systemd, or as children of this process, stops them when the state is left, and reports \
            to the daemon how each ended. Ends when the file declares no command.

            SIGTERM and SIGINT stop what runs; SIGUSR2 leaves it, if it is a unit, to the next runner; SIGHUP makes \
            it read the file again. Exit codes: 0 ended, or the file declares no command; 1 it cannot continue; 64 usage; 78 a \
            file that is refused, or a state directory or lock of another user.
            """,
        version: StateMachineVersion.current
    )

    @Option(
        help: ArgumentHelp(
            "The file that declares the machine.",
            discussion: """
                Default: machine.yaml, or NAME.machine.yaml for an instance, in /etc/statemachine, else in \
                /usr/lib/statemachine.
                """,
            valueName: "file"
        ),
        completion: .file(extensions: ["yaml"])
    )
    var machine: String?

    @Option(
        help: ArgumentHelp("The instance whose commands to run.", valueName: "name")
    )
    var instance: String?

    @Option(
        help: ArgumentHelp(
            "Where the daemon's sockets are.",
            discussion: """
                Default: $STATEMACHINE_RUNTIME_DIRECTORY, else /run/statemachine for root, else \
                $XDG_RUNTIME_DIR/statemachine; of an instance the directory of its name in the last two.
                """,
            valueName: "dir"
        ),
        completion: .directory
    )
    var runtimeDirectory: String?

    @Option(
        help: ArgumentHelp(
            "Where the runner records what has been run.",
            discussion:
                "Default: $STATE_DIRECTORY, which systemd sets; without it nothing is recorded, and a file with \"interrupted\" is refused.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var stateDirectory: String?

    @Flag(help: "Run commands as children instead of as systemd units.")
    var children = false

    @Option(help: "Log this level and those above.")
    var logLevel = LogLevel.info

    func validate() throws {
        for (name, value) in [
            ("--machine", self.machine), ("--instance", self.instance),
            ("--runtime-directory", self.runtimeDirectory),
            ("--state-directory", self.stateDirectory),
        ] where value == "" {
            throw ValidationError("\(name) is empty")
        }
        if let instance, !Instance.isName(instance) {
            throw ValidationError(
                "\"\(instance)\" is not the name of an instance; it must not contain \"/\""
            )
        }
    }

    static func main() {
        AccountChange.performIfAsked()
        FirstProcess.standIn()
        ProcessStart.prepare("statemachine-runner")
        ProcessStart.keepDescriptors()
        // One connection needs one thread.
        NIOSingletons.groupLoopCountSuggestion = 1
        NIOSingletons.blockingPoolThreadCountSuggestion = 1
        let command: RunnerCommand
        do {
            if let objection = ArgumentWords.objection() { throw ValidationError(objection) }
            var parsed = try self.parseAsRoot(ArgumentWords.all)
            guard let own = parsed as? RunnerCommand else {
                // The help, which prints itself.
                try parsed.run()
                return
            }
            command = own
        } catch {
            self.exit(withError: error)
        }
        let signals = Signals.stream(
            of: [
                (SIGTERM, RunnerSignal.end(.stop)), (SIGINT, .end(.stop)), (SIGUSR2, .end(.leave)),
                (SIGHUP, .reread),
            ],
            evenIgnored: [SIGTERM, SIGINT, SIGUSR2, SIGHUP]
        )
        LogOutput.run { await command.status(heeding: signals) }
    }

    /// Runs the service; returns the exit status.
    @MainActor
    private func status(heeding signals: AsyncStream<RunnerSignal>) async -> CInt {
        let logger = Logger.service(
            label: "statemachine-runner",
            threshold: LogThreshold(self.logLevel.level)
        )
        do throws(RunnerError) {
            try await withTaskExecutorPreference(QueueExecutor.shared) {
                () async throws(RunnerError) in
                try await self.serve(heeding: signals, logger: logger)
            }
            return EXIT_SUCCESS
        } catch {
            for line in error.description.split(separator: "\n") { logger.critical("\(line)") }
            return error.exitStatus
        }
    }
}
