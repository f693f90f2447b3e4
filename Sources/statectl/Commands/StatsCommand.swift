import ArgumentParser
import StateMachineClient

struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show who is connected, how far behind, and the daemon's counters."
    )

    @OptionGroup var options: SharedOptions

    @Flag(help: "Print the numbers in Prometheus's text format 0.0.4.")
    var prometheus = false

    func validate() throws {
        guard !(self.prometheus && self.options.json) else {
            throw ValidationError("--prometheus and --json exclude each other; give one")
        }
    }

    func run() async throws {
        let client = try self.options.client
        let reply = try await client.reply(to: .stats)
        guard reply.isOK == true else { try self.options.refuse(reply) }
        if self.prometheus {
            try StandardOutput.offer(PrometheusText.text(reply, RunnerState(in: client.directory)))
        } else {
            try self.options.print(reply) { text in
                StatsText(style: text.style, userName: text.userName).text(reply)
            }
        }
    }
}
