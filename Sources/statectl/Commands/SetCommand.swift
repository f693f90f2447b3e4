import ArgumentParser
import StateMachineClient

struct SetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set the state.",
        usage: """
            statectl set STATE [key=value …] [--if-seq N] [--if-state PATTERN] [--if-stay N] \
            [--reenter] [--cause TEXT]
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The state's name.", completion: .states)
    var state: String

    @Argument(
        help: ArgumentHelp(
            "Its values: key=value; one without a label is value=….",
            valueName: "key=value"
        ),
        completion: .values
    )
    var values: [String] = []

    @OptionGroup var conditions: Conditions

    @Flag(help: "Make a transition even if the state is the same.")
    var reenter = false

    @Option(help: ArgumentHelp("Why, for those who see the change.", valueName: "text"))
    var cause: String?

    func validate() throws {
        _ = try TypedValues.data(self.values, for: self.state)
    }

    func run() async throws {
        let request = Request.set(
            self.state,
            data: try TypedValues.data(self.values, for: self.state),
            ifSeq: self.conditions.ifSeq,
            ifState: self.conditions.pattern,
            ifStay: self.conditions.ifStay,
            reenter: self.reenter,
            cause: self.cause
        )
        try await self.options.change(by: request)
    }
}
