import ArgumentParser
import StateMachineClient

struct PingCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Check that the daemon answers.",
        discussion: """
            Shows how long connecting and the answer took.

            Examples:

              statectl ping
              statectl ping && echo "it answers"
            """
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let client = try self.options.client
        let clock = ContinuousClock()
        let began = clock.now
        let reply = try await client.accepted(.ping)
        let took = began.duration(to: clock.now)
        try self.options.print(reply) { $0.answer(reply, after: took) }
    }
}
