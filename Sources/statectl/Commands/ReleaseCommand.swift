import ArgumentParser
import StateMachineClient

struct ReleaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Give back a hold or a guard, one's own or, for root, anybody's.",
        usage: """
            statectl release N
            statectl release --required NAME
            """,
        discussion: """
            A refused set names the holds and guards that refused it by number, and "statectl status" \
            lists them. A required guard is released for good, connected or not; it is required again \
            when it connects anew, so stop it first.
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: ArgumentHelp("The number of a hold or a guard.", valueName: "n"))
    var number: UInt64?

    @Option(
        help: ArgumentHelp("The name of a required guard.", valueName: "name"),
        completion: .requirements
    )
    var required: String?

    func validate() throws {
        try OptionLimits.checkRequirement(self.required)
        _ = try self.request
    }

    private var request: Request {
        get throws {
            switch (self.number, self.required) {
            case (let number?, nil): .release(number)
            case (nil, let name?): .release(required: name)
            case (nil, nil), (_?, _?):
                throw ValidationError(
                    "say which: statectl release N, or statectl release --required NAME"
                )
            }
        }
    }

    func run() async throws {
        let reply = try await self.options.client.reply(to: self.request)
        guard reply.isOK == true else { try self.options.refuse(reply) }
        if self.options.json { try StandardOutput.offer(reply.text) }
    }
}
