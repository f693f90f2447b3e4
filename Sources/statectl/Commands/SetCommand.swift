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

    @Option(help: ArgumentHelp("Only if the machine is at this number.", valueName: "n"))
    var ifSeq: UInt64?

    @Option(
        help: ArgumentHelp("Only if the current state matches.", valueName: "pattern"),
        completion: .states
    )
    var ifState: String?

    @Option(
        help: ArgumentHelp("Only in the stay that began with this number.", valueName: "n")
    )
    var ifStay: UInt64?

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
            ifSeq: self.ifSeq,
            ifState: self.ifState.map { Pattern(typed: $0) },
            ifStay: self.ifStay,
            reenter: self.reenter,
            cause: self.cause
        )
        let reply = try await self.options.answer(to: request)
        try self.options.print(reply) {
            $0.report(reply, reply.hasChanged == false ? "unchanged" : nil)
        }
    }
}
