import ArgumentParser
import StateMachineClient

struct SetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set the state.",
        usage: """
            statectl set STATE [key=value … | --data JSON] [--if-seq N] [--if-state PATTERN] [--unless-state PATTERN] [--if-stay N] \
            [--reenter] [--cause TEXT]
            """,
        discussion: """
            Examples:

              statectl set dim level=40
              statectl set dark --if-state dim --cause "saving power"
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The state's name.", completion: .states)
    var state: String

    @Argument(
        help: .value(
            "key=value",
            "Its values: key=value, or a value alone for the one field that needs it."
        ),
        completion: .valuesOfState
    )
    var values: [String] = []

    @OptionGroup var typed: TypedValues

    @OptionGroup var conditions: Conditions

    @Flag(help: "Make a transition even if the state is the same.")
    var reenter = false

    @Option(help: .value("text", "Why, for those who see the change."))
    var cause: String?

    func validate() throws {
        try self.typed.check(self.values)
        try OptionLimits.checkText("--cause", self.cause)
    }

    func run() async throws {
        let fields = try self.typed.fields(self.values)
        let request = Request.set(
            self.state,
            data: fields?.values,
            words: fields?.words ?? [],
            ifSeq: self.conditions.ifSeq,
            ifState: self.conditions.patterns,
            ifStay: self.conditions.ifStay,
            reenter: self.reenter,
            cause: self.cause
        )
        try await self.options.change(by: request)
    }
}
