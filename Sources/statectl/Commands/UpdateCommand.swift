import ArgumentParser
import StateMachineClient

struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change fields of the present state, and stay in it.",
        usage: "statectl update key=value … | --data JSON [--if-stay N] [--cause TEXT]",
        discussion: """
            Deadlines and commands go on. key:=null removes a field that may be absent.
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: ArgumentHelp("The new values: key=value.", valueName: "key=value"),
        completion: .valuesOfPresent
    )
    var values: [String] = []

    @OptionGroup var typed: TypedValues

    @Option(
        help: ArgumentHelp("Only in the stay that began with this number.", valueName: "n")
    )
    var ifStay: UInt64?

    @Option(help: ArgumentHelp("Why, for those who see the change.", valueName: "text"))
    var cause: String?

    func validate() throws {
        guard !self.values.isEmpty || self.typed.data != nil else {
            throw ValidationError("name the fields: statectl update key=value …")
        }
        try self.typed.check(self.values)
        try OptionLimits.checkText("--cause", self.cause)
        try OptionLimits.checkNumber("--if-stay", self.ifStay)
    }

    func run() async throws {
        let fields = try self.typed.fields(self.values)
        let request = Request.update(
            fields?.values ?? [],
            words: fields?.words ?? [],
            ifStay: self.ifStay,
            cause: self.cause
        )
        try await self.options.change(by: request)
    }
}
