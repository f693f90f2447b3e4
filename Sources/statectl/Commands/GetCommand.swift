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
        try await self.machines.targets(self.options, self.format).each { target in
            let reply = try await target.client.accepted(.get)
            try target.print(reply) { $0.report(reply) }
        }
    }
}
