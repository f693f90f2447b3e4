import ArgumentParser
import StateMachineClient

struct TopCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show machines on a screen that follows them.",
        discussion: """
            The state, for how long and until when, who set it and why; holds, guards and how they have voted; \
            watchers and how many changes each is behind; what runs; and the last changes. It is drawn again at each \
            change and once a second; q quits. Several machines have a line each, with their holds and guards.

            Without a terminal it prints a line for each change, as watch does. Exit codes: 0 ended by q, 69 there \
            is no machine.

            Examples:

              statectl top
              statectl top --all
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var machines: SeveralMachines

    func validate() throws {
        guard !self.options.json else {
            throw ValidationError("top draws; the lines themselves: statectl --json watch")
        }
    }

    func run() async throws {
        let targets = try self.machines.targets(self.options)
        let clients = try targets.map { try $0.options.client }
        guard let screen = TerminalScreen() else { return try await self.print(targets, clients) }
        if targets.count == 1 {
            // A machine that is not there, or refuses, is reported in a line and not on a screen.
            _ = try await clients[0].accepted(.get)
        }
        try await TopRun(targets: targets, clients: clients).run(on: screen)
    }

    /// Prints a line for each change.
    private func print(_ targets: [MachineTarget], _ clients: [Client]) async throws {
        var entries = zip(targets, clients).map { target, client in
            { @Sendable in
                var sink = LineSink(target: target)
                let follow = Follow(watch: {
                    client.watch(since: $0, isPatient: target.mark != nil)
                })
                try await follow.run { try sink.take($0) }
            }
        }
        entries.append(Race.reader)
        try await Race.run(entries)
    }
}
