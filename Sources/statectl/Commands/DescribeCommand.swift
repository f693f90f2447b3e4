import ArgumentParser
import StateMachineClient

struct DescribeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Show the states, what may follow what, and events.",
        discussion: """
            Each state with its fields, what events do in it, and what time does; then the events with their fields, and the \
            groups. "statectl graph" draws the same. With --json the daemon's answer as it is, limits included.

            Examples:

              statectl describe
              statectl describe --limits
            """
    )

    @OptionGroup var options: SharedOptions

    @Flag(help: "Show the daemon's operations and limits too.")
    var limits = false

    func run() async throws {
        let reply = try await self.options.client.accepted(.describe)
        try self.options.print(reply) {
            DescriptionText(style: $0.style).text(reply, withLimits: self.limits).folded(
                to: $0.width
            )
        }
    }
}
