import ArgumentParser
import StateMachineClient
import StateMachineCore

struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until a state is reached.",
        usage: "statectl wait PATTERN … [--fail PATTERN …] [--timeout TIME] [--since CURSOR]"
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: ArgumentHelp("States to wait for.", valueName: "pattern"),
        completion: .patterns
    )
    var patterns: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("States that end the wait with exit code 1.", valueName: "pattern"),
        completion: .patterns
    )
    var fail: [String] = []

    @Option(
        help: ArgumentHelp("Give up after this time, with exit code 124.", valueName: "time")
    )
    var timeout: Seconds?

    @Option(
        help: ArgumentHelp("Take the changes after this cursor into account.", valueName: "cursor")
    )
    var since: String?

    func validate() throws {
        guard !self.patterns.isEmpty else {
            throw ValidationError(
                "name the states to wait for: statectl wait PATTERN … [--fail PATTERN …]"
            )
        }
    }

    func run() async throws {
        let reply = try await self.options.client.wait(
            until: self.patterns.map { Pattern(typed: $0) },
            fail: self.fail.map { Pattern(typed: $0) },
            since: self.since,
            timeout: self.timeout?.duration,
            interrupted: { error, attempt, _ in
                guard attempt == 1 else { return }
                StandardError.write("statectl: \(error.description.printable); reconnecting")
            },
            reconnected: { StandardError.write("statectl: connected") }
        )
        guard reply.isOK == true else { try self.options.refuse(reply) }
        try self.options.print(reply) { $0.report(reply) }
    }
}
