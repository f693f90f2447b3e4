import ArgumentParser
import StateMachineClient

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state, what runs in it, and what failed last.",
        discussion: """
            What runs is what statemachine-runner says; one that is gone, or was never there, is said so. With --json \
            one object: state, data, seq, at, stay, due, and runner, which is null or has pid, isThere, running, next, \
            lastFailure and commands.
            """
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let client = try self.options.client
        let reply = try await client.reply(to: .get)
        guard reply.isOK == true else { try self.options.refuse(reply) }
        let runner = RunnerState(in: client.directory)
        guard self.options.json else {
            return try StandardOutput.offer(
                StatusText(text: self.options.text).text(reply, runner)
            )
        }
        try StandardOutput.offer(Self.object(reply, runner).description)
    }

    private static func object(_ reply: Line, _ runner: RunnerState?) -> JSONValue {
        let keys = ["state", "data", "seq", "at", "stay", "due"]
        let state = keys.compactMap { key in reply[key].map { JSONMember(key, $0) } }
        return .object(state + [JSONMember("runner", runner?.object ?? .null)])
    }
}

extension RunnerState {
    /// What the file says, and whether that is still so.
    fileprivate var object: JSONValue {
        let members = self.json.members ?? []
        return .object(
            members.prefix(1) + [JSONMember("isThere", .bool(self.isThere))]
                + members.dropFirst().filter { $0.key != "start" }
        )
    }
}
