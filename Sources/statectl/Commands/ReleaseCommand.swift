import ArgumentParser
import StateMachineClient

struct ReleaseCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Give back a hold or a guard.",
        usage: """
            statectl release N|NAME
            statectl release --required NAME
            """,
        discussion: """
            Your own, or as root anybody's. A refused set and "statectl status" show the numbers and names. A \
            required guard is released for good, connected or not; it is required again when it connects again, so \
            stop it first.

            Examples:

              statectl release reading
              statectl release --required power
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: .value("n", "The number of a hold or a guard, or the name of a hold."),
        completion: .heldNames
    )
    var hold: String?

    @Option(help: .value("name", "The name of a required guard."), completion: .requirements)
    var required: String?

    func validate() throws {
        try OptionLimits.checkName("--required", self.required)
        _ = try self.request
    }

    private var request: Request {
        get throws {
            switch (self.hold, self.required) {
            case (let hold?, nil):
                if let number = UInt64(hold) { return .release(number) }
                try OptionLimits.checkName("what is released", hold)
                return .release(named: hold)
            case (nil, let name?): return .release(required: name)
            case (nil, nil), (_?, _?):
                throw ValidationError(
                    "say which: statectl release N, statectl release NAME, or statectl release --required NAME"
                )
            }
        }
    }

    func run() async throws {
        let reply = try await self.options.client.accepted(self.request)
        if self.options.json { try StandardOutput.offer(reply.text) }
    }
}
