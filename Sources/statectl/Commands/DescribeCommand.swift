import ArgumentParser
import StateMachineClient

struct DescribeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Show the states, what may follow what, the operations and the limits."
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let reply = try await self.options.client.accepted(.describe)
        try self.options.print(reply) {
            DescriptionText(style: $0.style).text(reply).folded(to: $0.width)
        }
    }
}
