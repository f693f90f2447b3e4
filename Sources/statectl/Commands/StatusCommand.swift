import ArgumentParser
import StateMachineClient

struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Show the state, who set it, holds, guards, watchers.",
        discussion: """
            Shows the state, since when, who set it and why; the holds and guards, and the states that they are \
            before; the watchers, how many changes each is behind, with its command and service if they can be seen; \
            and what runs in the state and what failed last. Without a command, statectl shows this on a terminal.

            What runs is read from the report of statemachine-runner; if there is no runner, or it has ended, the \
            text says so. With --json one object: state, data, seq, at, stay, due, by, cause, holds, guards, \
            watching, and runner, which is null or has pid, isThere, running, next, lastFailure and commands.

            Examples:

              statectl status
              statectl status -m lamp --json
            """
    )

    @OptionGroup var options: SharedOptions

    func run() async throws { try await Self.show(self.options) }

    /// Shows the status.
    static func show(_ options: SharedOptions) async throws {
        let client = try options.client
        let reply = try await client.accepted(.get)
        let stats = try await client.accepted(.stats)
        var status = MachineStatus(
            state: reply,
            stats: stats,
            runner: RunnerState(in: client.directory)
        )
        if !options.json, status.runner == nil, reply.stay != nil {
            status.hasCommands = MachineStatus.hasCommands(try await client.reply(to: .describe))
        }
        try StandardOutput.offer(
            options.json
                ? status.object.description : StatusText(text: options.text).text(status)
        )
    }
}

/// What there is to know of a machine at a moment.
struct MachineStatus {
    /// The answer to `get`.
    let state: Line
    /// The answer to `stats`.
    let stats: Line
    let runner: RunnerState?
    /// Whether the machine has commands for a runner; looked up only if there is no runner.
    var hasCommands = false

    /// Whether any state of a machine runs something, by its answer to `describe`.
    static func hasCommands(_ description: Line) -> Bool {
        (description["states"]?.elements ?? []).contains { state in
            state["run"]?.bool == true || state["hooks"]?.bool == true
        }
    }

    /// The rows of the connections that watch.
    var watching: [JSONValue] {
        (self.stats["connections"]?.elements ?? []).filter { ($0["watches"]?.integer ?? 0) > 0 }
    }

    var holds: [JSONValue] { self.stats["holds"]?.elements ?? [] }

    var guards: [JSONValue] { self.stats["guards"]?.elements ?? [] }

    /// The whole status as JSON.
    var object: JSONValue {
        let keys = ["state", "data", "seq", "at", "stay", "due", "by", "cause", "ageMs", "stayMs"]
        return .object(
            keys.compactMap { key in self.state[key].map { JSONMember(key, $0) } } + [
                JSONMember("holds", .array(self.holds)),
                JSONMember("guards", .array(self.guards)),
                JSONMember("watching", .array(self.watching)),
                JSONMember("runner", self.runner?.object ?? .null),
            ]
        )
    }
}

extension RunnerState {
    /// What the runner's file says, and whether the runner is still there.
    fileprivate var object: JSONValue {
        let members = self.json.members ?? []
        return .object(
            members.prefix(1) + [JSONMember("isThere", .bool(self.isThere))]
                + members.dropFirst().filter { $0.key != "start" }
        )
    }
}
