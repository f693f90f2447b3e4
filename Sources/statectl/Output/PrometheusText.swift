import StateMachineClient

/// The reply to `stats` in Prometheus's text format, version 0.0.4.
enum PrometheusText {
    /// A metric: its name without the prefix, its type, what it counts, and its values by labels.
    private typealias Metric = (
        name: String, type: String, help: String, values: [(labels: String, value: String)]
    )

    /// The format's lines, without the last one's newline; those of commands only where somebody runs them.
    static func text(_ reply: Line, _ runner: RunnerState? = nil) -> String {
        (self.counters(reply) + self.gauges(reply) + self.commands(runner)).map { metric in
            let name = "statemachine_\(metric.name)"
            let head = "# HELP \(name) \(metric.help)\n# TYPE \(name) \(metric.type)"
            return ([head] + metric.values.map { "\(name)\($0.labels) \($0.value)" })
                .joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static func counters(_ reply: Line) -> [Metric] {
        let counters: [(key: String, name: String, help: String)] = [
            ("changes", "changes_total", "Changes of the state."),
            ("requests", "requests_total", "Requests received."),
            ("refusals", "refusals_total", "Requests refused."),
            ("accepted", "connections_accepted_total", "Connections accepted."),
            ("turnedAway", "connections_turned_away_total", "Connections turned away at a limit."),
            ("resyncs", "resyncs_total", "Lines that told a reader of missed changes."),
            ("bytes", "sent_bytes_total", "Bytes sent."),
            ("writes", "writes_total", "Writes in which they were sent."),
        ]
        // A counter that this daemon does not have is left out rather than shown as 0.
        return counters.compactMap { counter in
            guard let value = reply["counters"]?[counter.key]?.integer else { return nil }
            return (counter.name, "counter", counter.help, [("", String(value))])
        }
    }

    private static func gauges(_ reply: Line) -> [Metric] {
        let rows = reply["connections"]?.elements ?? []
        let doors = Door.allCases.map { door in
            let count = rows.count { $0["door"]?.string == door.rawValue }
            return ("{door=\"\(door.rawValue)\"}", String(count))
        }
        let watches = rows.reduce(0.0) { $0 + Double($1["watches"]?.integer ?? 0) }
        let lag = rows.map { $0["lag"]?.integer ?? 0 }.max() ?? 0
        let uptime = reply["uptimeMs"]?.integer ?? 0
        return [
            ("connections", "gauge", "Open connections.", doors),
            ("watches", "gauge", "Watches on all connections.", [("", self.whole(watches))]),
            (
                "lag_max", "gauge", "Changes that the slowest watch is behind.",
                [("", String(lag))]
            ),
            (
                "seq", "gauge", "The number of the last change.",
                [("", reply.seq.map(String.init) ?? "NaN")]
            ),
            (
                "uptime_seconds", "gauge", "Seconds since the daemon's start.",
                [("", "\(uptime / 1000).\(self.thousandths(uptime % 1000))")]
            ),
        ]
    }

    private static func commands(_ runner: RunnerState?) -> [Metric] {
        guard let runner, runner.isThere else { return [] }
        let rows = runner.json["commands"]?.elements ?? []
        let counters = [
            ("runs", "command_runs_total", "Commands begun, each attempt counted."),
            ("failures", "command_failures_total", "Commands that ended as nobody had thought of."),
            ("seconds", "command_seconds_total", "How long those took that have ended."),
        ]
        let metrics = counters.map { key, name, help -> Metric in
            let values = rows.compactMap { row in row[key].map { (self.labels(row), $0.shortText) }
            }
            return (name, "counter", help, values)
        }
        let isBusy = runner.json["running"] != nil
        return metrics + [
            ("command_running", "gauge", "Whether a command runs.", [("", isBusy ? "1" : "0")])
        ]
    }

    private static func labels(_ row: JSONValue) -> String {
        let labels = ["state", "key"].map { key in
            "\(key)=\(JSONValue.string(row[key]?.string ?? ""))"
        }
        return "{\(labels.joined(separator: ","))}"
    }

    /// A sum, which may be larger than any integer: a daemon may say anything.
    private static func whole(_ number: Double) -> String {
        Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }

    private static func thousandths(_ number: Int64) -> String {
        String(String(1000 + number.magnitude).dropFirst())
    }
}
