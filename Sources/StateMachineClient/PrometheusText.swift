/// The replies to `stats` of some machines in Prometheus's text format, version 0.0.4.
package enum PrometheusText {
    /// What one machine reports.
    package struct Sample: Sendable {
        /// The value of the label `machine`; nil for no label, where there is only one machine.
        let machine: String?
        /// The reply to `stats`.
        let stats: Line
        /// What the runner reports about itself, if there is one.
        let runner: JSONValue?

        package init(machine: String? = nil, stats: Line, runner: JSONValue? = nil) {
            (self.machine, self.stats, self.runner) = (machine, stats, runner)
        }
    }

    /// A metric: its name without the prefix, its type, what it counts, and its values by labels.
    private typealias Metric = (
        name: String, type: String, help: String, values: [(labels: [Label], value: String)]
    )
    private typealias Label = (name: String, value: String)

    /// The text, without the last newline; it has lines on commands only where there is a runner.
    package static func text(_ samples: [Sample]) -> String {
        var metrics: [Metric] = []
        for sample in samples {
            let own = sample.machine.map { [("machine", $0)] } ?? []
            let all =
                self.counters(sample.stats) + self.gauges(sample.stats)
                + self.commands(sample.runner)
            for metric in all {
                let values = metric.values.map { (own + $0.labels, $0.value) }
                // All lines of a metric stand together, whichever machine they belong to.
                if let index = metrics.firstIndex(where: { $0.name == metric.name }) {
                    metrics[index].values += values
                } else {
                    metrics.append((metric.name, metric.type, metric.help, values))
                }
            }
        }
        return metrics.map { metric in
            let name = "statemachine_\(metric.name)"
            let head = "# HELP \(name) \(metric.help)\n# TYPE \(name) \(metric.type)"
            let lines = metric.values.map { "\(name)\(self.text($0.labels)) \($0.value)" }
            return ([head] + lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    /// The same for one machine.
    package static func text(_ stats: Line, _ runner: JSONValue? = nil) -> String {
        self.text([Sample(stats: stats, runner: runner)])
    }

    private static func text(_ labels: [Label]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{\(labels.map { "\($0.name)=\($0.value.labelValue)" }.joined(separator: ","))}"
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
            return (counter.name, "counter", counter.help, [([], String(value))])
        }
    }

    private static func gauges(_ reply: Line) -> [Metric] {
        let rows = reply["connections"]?.elements ?? []
        let doors = Door.allCases.map { door -> ([Label], String) in
            let count = rows.count { $0["door"]?.string == door.rawValue }
            return ([("door", door.rawValue)], String(count))
        }
        let watches = rows.reduce(0.0) { $0 + Double($1["watches"]?.integer ?? 0) }
        let lag = rows.map { $0["lag"]?.integer ?? 0 }.max() ?? 0
        let uptime = reply["uptimeMs"]?.integer ?? 0
        return [
            ("connections", "gauge", "Open connections.", doors),
            ("watches", "gauge", "Watches on all connections.", [([], self.whole(watches))]),
            (
                "lag_max", "gauge", "Changes that the slowest watch is behind.",
                [([], String(lag))]
            ),
            (
                "seq", "gauge", "The number of the last change.",
                [([], reply.seq.map(String.init) ?? "NaN")]
            ),
            (
                "uptime_seconds", "gauge", "Seconds since the daemon's start.",
                [([], "\(uptime / 1000).\(self.thousandths(uptime % 1000))")]
            ),
        ]
    }

    private static func commands(_ runner: JSONValue?) -> [Metric] {
        guard let runner else { return [] }
        let rows = runner["commands"]?.elements ?? []
        let counters = [
            ("runs", "command_runs_total", "Commands begun, each attempt counted."),
            ("failures", "command_failures_total", "Commands that ended as nobody had thought of."),
            ("seconds", "command_seconds_total", "How long those took that have ended."),
        ]
        let metrics = counters.map { key, name, help -> Metric in
            let values = rows.compactMap { row in
                row[key].map { (self.labels(row), $0.string ?? $0.description) }
            }
            return (name, "counter", help, values)
        }
        let isBusy = runner["running"] != nil
        return metrics + [
            ("command_running", "gauge", "Whether a command runs.", [([], isBusy ? "1" : "0")])
        ]
    }

    private static func labels(_ row: JSONValue) -> [Label] {
        ["state", "key"].map { ($0, row[$0]?.string ?? "") }
    }

    /// A sum, which may be larger than any integer: a daemon may say anything.
    private static func whole(_ number: Double) -> String {
        Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }

    private static func thousandths(_ number: Int64) -> String {
        String(String(1000 + number.magnitude).dropFirst())
    }
}

extension String {
    /// In quotes, as the format wants it: the backslash, the quote and the newline are escaped, and nothing else.
    package var labelValue: String {
        var text = "\""
        for scalar in self.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
