import ArgumentParser
import StateMachineClient
import StateMachineCore

struct ReloadCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract:
            "Have the daemon read its files again.",
        discussion: """
            The settings and the machine's file, as on SIGHUP, but with an answer: what is in force now, and which \
            settings wait for the next start. If anything is wrong, nothing changes and every error is shown. For \
            root and the daemon's own user. Exit codes: 0 done, 77 not permitted, 78 refused.

            Examples:

              statectl reload
              statectl reload --json
            """
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let reply = try await self.options.client.reply(to: .reload, within: nil)
        guard reply.isOK == true else {
            guard reply.error == .badFile, !self.options.json else {
                throw ClientError.refused(reply)
            }
            for problem in reply["problems"]?.elements ?? [] {
                StandardError.write((problem.string ?? problem.description).printable)
            }
            StandardError.write("statectl: the reload is refused, and what was in force stays")
            throw ExitStatus.configuration
        }
        try self.options.print(reply) { $0.report(reply, Self.text(reply)) }
    }

    /// What is in force: `declared by 1.4`.
    private static func text(_ reply: Line) -> String {
        var parts: [String] = []
        if let name = reply.version ?? reply.declaration.map({ String($0.prefix(12)) }) {
            parts.append("declared by \(name.printable)")
        }
        if let later = reply["atNextStart"]?.elements, !later.isEmpty {
            parts.append("at the next start: \(later.map(\.shortText).joined(separator: ", "))")
        }
        if reply["restarts"]?.bool == true { parts.append("another process takes over") }
        return parts.isEmpty ? "reloaded" : parts.joined(separator: "; ")
    }
}
