import ArgumentParser
import StateMachineClient

struct DescribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Show the states, what may follow what, the operations and the limits."
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let reply = try await self.options.client.reply(to: .describe)
        guard reply.isOK == true else { try self.options.refuse(reply) }
        try self.options.print(reply) {
            DescriptionText(style: $0.style).text(reply).folded(to: $0.width)
        }
    }
}
