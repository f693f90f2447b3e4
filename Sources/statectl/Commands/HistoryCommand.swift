import ArgumentParser
import StateMachineClient

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show the changes that the daemon still has, oldest first."
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: ArgumentHelp("Only states that match one of these.", valueName: "pattern"),
        completion: .patterns
    )
    var patterns: [String] = []

    @Option(help: ArgumentHelp("Only the changes after this cursor.", valueName: "cursor"))
    var since: String?

    @Option(help: ArgumentHelp("At most so many (default: 1000).", valueName: "n"))
    var limit: Int?

    func validate() throws {
        guard self.limit.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--limit must be at least 1")
        }
    }

    func run() async throws {
        let text = self.options.text
        var cursor: String?
        let reply = try await self.options.client.history(
            since: self.since,
            limit: self.limit.map { UInt64($0) },
            only: self.patterns.map { Pattern(typed: $0) }
        ) { line in
            cursor = line.cursor
            if let shown = self.options.json ? line.text : text.event(line) {
                try StandardOutput.write(shown)
            }
        }
        guard reply.isOK == true else { try self.options.refuse(reply) }
        let end = text.end(ofHistory: reply, at: cursor)
        if let shown = self.options.json ? reply.text : end { try StandardOutput.write(shown) }
    }
}
