import ArgumentParser
import StateMachineClient

struct GetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Show the current state.",
        discussion: """
            Examples:

              statectl get
              statectl get -m lamp --format "{state} since {at}"
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var format: FormatOption

    @OptionGroup var machines: SeveralMachines

    func validate() throws { try self.format.check(beside: self.options) }

    func run() async throws {
        try await self.machines.targets(self.options).each { target in
            let client = try target.options.client
            try await self.format.check(client)
            let reply = try await client.accepted(.get)
            try self.format.print(reply, target) { $0.report(reply) }
        }
    }
}
