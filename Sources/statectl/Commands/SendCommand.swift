import ArgumentParser
import StateMachineClient

struct SendCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send an event to the machine.",
        usage: """
            statectl send EVENT [key=value … | --data JSON] [--if-seq N] [--if-state PATTERN] [--unless-state PATTERN] [--if-stay N] \
            [--cause TEXT] [--must]
            """,
        discussion: """
            The present state's "when" says where the event leads. An event that it does not have changes nothing. This is \
            an error only with --must: then the exit code is 1.

            Examples:

              statectl send press
              statectl send move --must
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The event's name.", completion: .events)
    var event: String

    @Argument(
        help: .value(
            "key=value",
            "What it carries: key=value, or a value alone for the one field that needs it."
        ),
        completion: .valuesOfEvent
    )
    var values: [String] = []

    @OptionGroup var typed: TypedValues

    @OptionGroup var conditions: Conditions

    @Option(help: .value("text", "Why, for those who see the change."))
    var cause: String?

    @Flag(help: "End with exit code 1 if the state does not handle the event.")
    var must = false

    func validate() throws {
        try self.typed.check(self.values)
        try OptionLimits.checkText("--cause", self.cause)
    }

    func run() async throws {
        let fields = try self.typed.fields(self.values)
        let request = Request.send(
            self.event,
            data: fields?.values,
            words: fields?.words ?? [],
            ifSeq: self.conditions.ifSeq,
            ifState: self.conditions.patterns,
            ifStay: self.conditions.ifStay,
            cause: self.cause
        )
        let reply = try await self.options.change(by: request) { reply in
            reply.isHandled == false ? "does not handle \(self.event)" : nil
        }
        if self.must, reply.isHandled == false { throw ExitStatus.no }
    }
}
