import Logging
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

/// What a runner logs: each command's beginning and end, and whatever keeps one waiting.
struct RunnerLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func note(_ notice: Notice) {
        switch notice {
        case .begun(let name, let attempt):
            self.log(.info, "begun", name, ["attempt": "\(attempt)"])
        case .ended(let name, let end, let attempt, let isFailure):
            let how = end.kind == .interrupted ? "stopped" : end.kind.text
            let facts = ["attempt": "\(attempt)", "end": how, "seconds": end.duration.seconds]
            self.log(isFailure ? .warning : .info, isFailure ? "failed" : "ended", name, facts)
        case .triedAgain(let name, let pause):
            self.log(.info, "the command will be tried again", name, ["after": pause.timeText])
        case .interrupted(let name):
            self.log(.warning, "the command was interrupted by a stop", name)
        case .interruptions(let name, let count, _, let isFailure):
            self.interrupted(name, times: count, isFailure: isFailure)
        case .vanished(let name):
            self.log(
                .warning,
                "the command's process is gone without a result, starting it again",
                name
            )
        case .trouble(let name, let why, let pause):
            let facts = ["error": why, "after": pause.timeText]
            self.log(.error, "the command cannot be run, trying again", name, facts)
        case .unhandled(let name, let end):
            self.log(
                .warning,
                "the file has no \"done\", \"exit\" or \"failed\" for this end of the command, staying in the state",
                name,
                ["end": end.text]
            )
        case .refused(let name, let code, let message, let pause):
            self.log(
                .warning,
                "the daemon did not accept the end of the command, trying again",
                name,
                ["error": "\(code)", "message": message, "after": pause.timeText]
            )
        case .untold(let name, let why, let pause):
            self.log(
                .warning,
                "the end of the command cannot be reported to the daemon, trying again",
                name,
                ["error": why, "after": pause.timeText]
            )
        case .hooksUnknown(let count, let from, let to):
            let facts = ["changes": count.map { "\($0)" } ?? "?", "from": from, "to": to]
            self.log(.warning, "changes were missed, not running their hooks", facts)
        case .stateUnknown(let state):
            self.log(
                .warning,
                "a missed change entered a state that the file does not declare, not running its hooks",
                ["state": state]
            )
        case .differs:
            self.logger.warning(
                "the machine's file differs from what the daemon has loaded, starting nothing until the daemon is reloaded"
            )
        case .agrees: self.logger.notice("the daemon has loaded the machine's file, continuing")
        case .nothingToRun: self.logger.notice("the file no longer declares a command, ending")
        }
    }

    private func interrupted(_ name: CommandName, times: Int, isFailure: Bool) {
        let message =
            isFailure
            ? "the command was interrupted too often in a row, it has failed"
            : "the command was interrupted, running it again"
        self.log(isFailure ? .warning : .info, message, name, ["interruptions": "\(times)"])
    }

    func connected() { self.logger.debug("connected") }

    func disconnected(_ error: ClientError) {
        self.log(.notice, "no connection to the daemon, trying again", error: error)
    }

    func stray(_ name: CommandName) {
        self.log(.notice, "ending a command that an earlier runner left running", name)
    }

    func trouble(_ error: CommandHostError, retryingIn pause: Duration) {
        let message = "commands cannot be listed or stopped, trying again"
        self.log(.error, message, error: error, ["after": pause.timeText])
    }

    func unforgotten(_ name: CommandName, _ error: CommandHostError) {
        let message = "the unit of an ended command could not be cleaned up"
        self.log(.warning, message, name, ["error": "\(error)"])
    }

    func unreadable(_ problem: String) {
        for line in problem.split(separator: "\n") { self.logger.error("\(line)") }
    }

    /// Logs that the record of an earlier runner is of no use here.
    func ofAnother() {
        self.logger.warning(
            "the record of an earlier runner is of another machine, not running hooks of changes before now"
        )
    }

    /// Logs that parts of the record of an earlier runner cannot be read.
    func damaged(_ parts: [String]) {
        self.log(
            .warning,
            "the record of an earlier runner cannot be read, what it does not say counts as interrupted",
            ["damaged": parts.joined(separator: ", ")]
        )
    }

    func unwritten(_ error: RunnerError, retryingIn pause: Duration) {
        let message = "the runner's record cannot be written, starting no command until it can"
        self.log(.error, message, error: error, ["after": pause.timeText])
    }

    func unseen(_ problem: String) {
        let message = "the report for statectl status could not be written, continuing"
        self.log(.warning, message, error: problem)
    }

    func unlocked(_ problem: String) {
        let message = "the lock against a second runner could not be taken, continuing"
        self.log(.warning, message, error: problem)
    }

    func unended(_ error: CommandHostError) {
        let message = "commands that an earlier runner may have left running could not be ended"
        self.log(.warning, message, error: error)
    }

    func unheard(_ error: any Error) {
        self.log(.debug, "the service manager could not be notified", error: error)
    }

    private func log(
        _ level: Logger.Level,
        _ message: String,
        error: Any,
        _ facts: [String: String] = [:]
    ) {
        self.log(level, message, facts.merging(["error": "\(error)"]) { $1 })
    }

    private func log(
        _ level: Logger.Level,
        _ message: String,
        _ name: CommandName,
        _ facts: [String: String] = [:]
    ) {
        let own = ["state": name.state, "key": name.key.description, "seq": "\(name.seq)"]
        self.log(level, message, own.merging(facts) { $1 })
    }

    private func log(_ level: Logger.Level, _ message: String, _ facts: [String: String]) {
        self.logger.log(level: level, "\(message)", metadata: facts.mapValues { .string($0) })
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
        return "\(milliseconds / 1000).\((milliseconds % 1000).digits(3))"
    }
}
