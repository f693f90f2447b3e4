import Logging
import StateMachineClient
import StateMachineDeclaration

/// What a runner logs: each command's beginning and end, and whatever keeps one waiting.
struct RunnerLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func note(_ notice: Notice) {
        switch notice {
        case .begun(let name, let attempt):
            self.logger.info("begun", metadata: Self.facts(name, ["attempt": "\(attempt)"]))
        case .ended(let name, let end, let attempt, let isFailure):
            let how = end.kind == .interrupted ? "stopped" : end.kind.text
            let facts: Logger.Metadata = [
                "attempt": "\(attempt)", "end": "\(how)",
                "seconds": "\(end.duration.seconds)",
            ]
            self.logger.log(
                level: isFailure ? .warning : .info,
                isFailure ? "failed" : "ended",
                metadata: Self.facts(name, facts)
            )
        case .triedAgain(let name, let pause):
            self.logger.info(
                "the command will be tried again",
                metadata: Self.facts(name, ["after": "\(pause.timeText)"])
            )
        case .interrupted(let name):
            self.logger.warning("the command was interrupted by a stop", metadata: Self.facts(name))
        case .vanished(let name):
            self.logger.warning(
                "the command's process is gone without a result, starting it again",
                metadata: Self.facts(name)
            )
        case .trouble(let name, let why, let pause):
            self.logger.error(
                "the command cannot be run, trying again",
                metadata: Self.facts(name, ["error": "\(why)", "after": "\(pause.timeText)"])
            )
        case .unhandled(let name, let end):
            self.logger.warning(
                "the file has no \"done\", \"exit\" or \"failed\" for this end of the command, staying in the state",
                metadata: Self.facts(name, ["end": "\(end.text)"])
            )
        case .refused(let name, let code, let message, let pause):
            self.logger.warning(
                "the daemon did not accept the end of the command, trying again",
                metadata: Self.facts(
                    name,
                    ["error": "\(code)", "message": "\(message)", "after": "\(pause.timeText)"]
                )
            )
        case .untold(let name, let why, let pause):
            self.logger.warning(
                "the end of the command cannot be reported to the daemon, trying again",
                metadata: Self.facts(name, ["error": "\(why)", "after": "\(pause.timeText)"])
            )
        case .hooksUnknown(let count, let from, let to):
            self.logger.warning(
                "changes were missed, not running their hooks",
                metadata: [
                    "changes": "\(count.map { "\($0)" } ?? "?")", "from": "\(from)", "to": "\(to)",
                ]
            )
        case .stateUnknown(let state):
            self.logger.warning(
                "a missed change entered a state that the file does not declare, not running its hooks",
                metadata: ["state": "\(state)"]
            )
        case .differs:
            self.logger.warning(
                "the machine's file differs from what the daemon has loaded, starting nothing until the daemon is reloaded"
            )
        case .agrees: self.logger.notice("the daemon has loaded the machine's file, continuing")
        case .nothingToRun: self.logger.notice("the file no longer declares a command, ending")
        }
    }

    func connected() { self.logger.debug("connected") }

    func disconnected(_ error: ClientError) {
        self.logger.notice(
            "no connection to the daemon, trying again",
            metadata: ["error": "\(error)"]
        )
    }

    func stray(_ name: CommandName) {
        self.logger.notice(
            "ending a command that an earlier runner left running",
            metadata: Self.facts(name)
        )
    }

    func trouble(_ error: CommandHostError, retryingIn pause: Duration) {
        self.logger.error(
            "commands cannot be listed or stopped, trying again",
            metadata: ["error": "\(error)", "after": "\(pause.timeText)"]
        )
    }

    func unforgotten(_ name: CommandName, _ error: CommandHostError) {
        self.logger.warning(
            "the unit of an ended command could not be cleaned up",
            metadata: Self.facts(name, ["error": "\(error)"])
        )
    }

    func unreadable(_ problem: String) {
        for line in problem.split(separator: "\n") { self.logger.error("\(line)") }
    }

    /// Logs that the record of an earlier runner cannot be used.
    func forgotten() {
        self.logger.warning(
            "the record of an earlier runner cannot be read, or is of another machine, not running hooks of changes before now"
        )
    }

    func unwritten(_ error: RunnerError, retryingIn pause: Duration) {
        self.logger.error(
            "the runner's record cannot be written, starting no command until it can",
            metadata: ["error": "\(error)", "after": "\(pause.timeText)"]
        )
    }

    func unseen(_ problem: String) {
        self.logger.warning(
            "the report for statectl status could not be written, continuing",
            metadata: ["error": "\(problem)"]
        )
    }

    func unlocked(_ problem: String) {
        self.logger.warning(
            "the lock against a second runner could not be taken, continuing",
            metadata: ["error": "\(problem)"]
        )
    }

    func unended(_ error: CommandHostError) {
        self.logger.warning(
            "commands that an earlier runner may have left running could not be ended",
            metadata: ["error": "\(error)"]
        )
    }

    func unheard(_ error: any Error) {
        self.logger.debug(
            "the service manager could not be notified",
            metadata: ["error": "\(error)"]
        )
    }

    private static func facts(
        _ name: CommandName,
        _ others: Logger.Metadata = [:]
    ) -> Logger.Metadata {
        let own: Logger.Metadata = [
            "state": "\(name.state)", "key": "\(name.key)", "seq": "\(name.seq)",
        ]
        return own.merging(others) { $1 }
    }
}

extension RunEnd {
    /// For people: `exit 3`, `SIGKILL`, `timeout`, `interrupted`.
    var text: String {
        switch self {
        case .exit(let code): "exit \(code)"
        case .signal(let name): name
        case .timeout: "timeout"
        case .interrupted: "interrupted"
        }
    }
}

extension Duration {
    /// In seconds, to a thousandth: `0.042`.
    var seconds: String {
        let milliseconds = max(0, self.wholeMilliseconds)
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    }
}
