import ArgumentParser
import StateMachineClient

struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change fields of the present state, and stay in it.",
        usage: "statectl update key=value … [--if-stay N] [--cause TEXT]",
        discussion: """
            Deadlines and commands go on. key=null removes a field that may be absent.
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: ArgumentHelp("The new values: key=value.", valueName: "key=value"))
    var values: [String]

    @Option(
        help: ArgumentHelp("Only in the stay that began with this number.", valueName: "n")
    )
    var ifStay: UInt64?

    @Option(help: ArgumentHelp("Why, for those who see the change.", valueName: "text"))
    var cause: String?

    func validate() throws {
        _ = try TypedValues.data(self.values, for: "…")
    }

    func run() async throws {
        let request = Request.update(
            try TypedValues.data(self.values, for: "…") ?? [],
            ifStay: self.ifStay,
            cause: self.cause
        )
        try await self.options.change(by: request)
    }
}
