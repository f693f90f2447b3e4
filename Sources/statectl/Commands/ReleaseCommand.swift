import ArgumentParser
import StateMachineClient

struct ReleaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Give back a hold, one's own or, for root, anybody's.",
        discussion: "A refused set names the holds that refused it by number."
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: ArgumentHelp("The hold's number.", valueName: "n"))
    var hold: UInt64

    func run() async throws {
        let reply = try await self.options.client.reply(to: .release(self.hold))
        guard reply.isOK == true else { try self.options.refuse(reply) }
        if self.options.json { try StandardOutput.offer(reply.text) }
    }
}
