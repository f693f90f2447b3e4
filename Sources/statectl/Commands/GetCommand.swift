import ArgumentParser
import StateMachineClient

struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show the current state."
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let reply = try await self.options.client.reply(to: .get)
        guard reply.isOK == true else { try self.options.refuse(reply) }
        try self.options.print(reply) { $0.report(reply) }
    }
}
