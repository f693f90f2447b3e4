import ArgumentParser
import StateMachineClient

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Tell the machine of an event.",
        usage: """
            statectl send EVENT [key=value …] [--if-seq N] [--if-state PATTERN] [--if-stay N] \
            [--cause TEXT]
            """,
        discussion: """
            Where the state asks for the event it is left, or stays, as the machine's file says. \
            An event that the state does not ask for changes nothing, and is no error.
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The event's name.", completion: .events)
    var event: String

    @Argument(help: ArgumentHelp("What it carries: key=value.", valueName: "key=value"))
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

    @Option(help: ArgumentHelp("Why, for those who see the change.", valueName: "text"))
    var cause: String?

    func validate() throws {
        _ = try TypedValues.data(self.values, for: self.event)
    }

    func run() async throws {
        let request = Request.send(
            self.event,
            data: try TypedValues.data(self.values, for: self.event),
            ifSeq: self.ifSeq,
            ifState: self.ifState.map { Pattern(typed: $0) },
            ifStay: self.ifStay,
            cause: self.cause
        )
        let reply = try await self.options.answer(to: request)
        try self.options.print(reply) { text in
            let remark =
                reply.isHandled == false
                ? "does not ask for \(self.event)" : reply.hasChanged == false ? "unchanged" : nil
            return text.report(reply, remark)
        }
    }
}
