import ArgumentParser
import StateMachineClient
import StateMachineDeclaration

struct StatsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show the connections and the daemon's counters.",
        discussion: """
            Examples:

              statectl stats
              statectl stats --prometheus
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var machines: SeveralMachines

    @Flag(
        help: ArgumentHelp(
            "Print the state and the counters in Prometheus's text format 0.0.4.",
            discussion:
                "For a textfile collector; statemachine-web serves the same of all machines as /metrics."
        )
    )
    var prometheus = false

    func validate() throws {
        guard !(self.prometheus && self.options.json) else {
            throw ValidationError("--prometheus and --json exclude each other; give one")
        }
    }

    func run() async throws {
        let one = [(self.prometheus, "--prometheus")]
        try await self.machines.targets(self.options, one: one).each { target in
            let client = try await target.client
            if self.prometheus {
                let sample = try await PrometheusText.Sample(of: client, held: DrawingBar.held)
                try StandardOutput.offer(PrometheusText.text([sample]))
            } else {
                let reply = try await client.accepted(.stats)
                try target.print(reply) { StatsText(text: $0).text(reply) }
            }
        }
    }
}
