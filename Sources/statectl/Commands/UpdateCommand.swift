import ArgumentParser
import StateMachineClient

struct UpdateCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change fields of the present state, and stay.",
        usage: """
            statectl update key=value key+=NUMBER … | --data JSON [--if-seq N] [--if-state PATTERN] [--unless-state PATTERN] \
            [--if-stay N] [--cause TEXT]
            """,
        discussion: """
            Deadlines and commands continue. key:=null removes a field that may be absent. key+=1 adds to the value that the field has \
            when the update's turn comes (key+=-1 subtracts), so that several who count lose nothing.

            Examples:

              statectl update level=60
              statectl update level+=-10
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: .value(
            "key=value",
            "The new values: key=value, or key+=NUMBER to add to the present one."
        ),
        completion: .valuesOfPresent
    )
    var values: [String] = []

    @OptionGroup var typed: TypedValues

    @OptionGroup var conditions: Conditions

    @Option(help: .value("text", "Why, for those who see the change."))
    var cause: String?

    func validate() throws {
        guard !self.values.isEmpty || self.typed.data != nil else {
            throw ValidationError("name the fields: statectl update key=value …")
        }
        try self.typed.check(self.values, isUpdate: true)
        try OptionLimits.checkText("--cause", self.cause)
    }

    func run() async throws {
        let fields = try self.typed.fields(self.values, isUpdate: true)
        let request = Request.update(
            fields?.values ?? [],
            words: fields?.words ?? [],
            adding: fields?.amounts ?? [],
            ifSeq: self.conditions.ifSeq,
            ifState: self.conditions.patterns,
            ifStay: self.conditions.ifStay,
            cause: self.cause
        )
        try await self.options.change(by: request)
    }
}
