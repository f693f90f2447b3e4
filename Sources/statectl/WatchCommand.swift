import ArgumentParser
import StateMachineClient

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the state and every change as it happens.",
        discussion: """
            Goes on by itself when the daemon restarts, and ends when its reader does. What was \
            missed meanwhile is said in the line that follows.
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: ArgumentHelp("Only states that match one of these.", valueName: "pattern"))
    var patterns: [String] = []

    @Option(help: ArgumentHelp("End after so many lines.", valueName: "n"))
    var count: Int?

    @Option(
        help: ArgumentHelp("Begin with the changes after this cursor.", valueName: "cursor")
    )
    var since: String?

    func validate() throws {
        guard self.count.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--count must be at least 1")
        }
    }

    func run() async throws {
        let watch = try self.options.client.watch(
            since: self.since,
            only: self.patterns.map { TypedValues.pattern($0) }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.show(watch) }
            group.addTask {
                await ReaderWatch.readerIsGone()
                throw OutputError.readerGone
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func show(_ watch: Watch) async throws {
        var shown = 0
        do {
            for try await event in watch {
                switch event {
                case .line(let line):
                    try self.show(line)
                    switch line.kind {
                    case .state, .change: shown += 1
                    case .reply, .live, .ask, .beat, .bye, .other: break
                    }
                case .reached: return
                case .interrupted(let error, let attempt, _):
                    if case .dismissed(let farewell) = error, self.options.json {
                        try StandardOutput.write(farewell.text)
                    }
                    guard attempt == 1 else { continue }
                    StandardError.write("statectl: \(error.description.printable); reconnecting")
                }
                if shown == self.count { return }
            }
        } catch ClientError.refused(let reply) {
            try self.options.refuse(reply)
        }
    }

    private func show(_ line: Line) throws {
        if self.options.json {
            try StandardOutput.write(line.text)
        } else if let text = self.options.text.event(line) {
            try StandardOutput.write(text)
        }
    }
}
