import StateMachineCore

/// What some machines report, in Prometheus's text format, version 0.0.4.
package enum PrometheusText {
    /// What one machine reports.
    package struct Sample: Sendable {
        /// What the machine is called where it is looked for: the label `instance`.
        let instance: String
        /// The replies to `stats`, `describe` and `get`.
        let stats: Line
        let description: Line
        let present: Line
        /// The states that somebody holds, by name.
        let held: Set<String>
        /// What the runner reports about itself, if there is one.
        let runner: JSONValue?

        package init(
            instance: String,
            stats: Line,
            description: Line,
            present: Line,
            held: Set<String> = [],
            runner: JSONValue? = nil
        ) {
            (self.instance, self.stats, self.description) = (instance, stats, description)
            (self.present, self.held, self.runner) = (present, held, runner)
        }

        /// Asks the daemon, and looks whether there is a runner beside it.
        ///
        /// - Parameters:
        ///   - client: whom to ask.
        ///   - instance: what it is called; by its place if nil, `statemachine` for the nameless one.
        ///   - limit: for how long each answer is awaited.
        ///   - held: which states are held, from the replies to `stats` and `describe`.
        /// - Throws: `ClientError`.
        package init(
            of client: Client,
            as instance: String? = nil,
            within limit: Duration = Client.answerLimit,
            held: (JSONValue, JSONValue) -> Set<String>
        ) async throws {
            let stats = try await client.accepted(.stats, within: limit)
            let description = try await client.accepted(.describe, within: limit)
            let runner = RunnerState(in: client.directory)
            self.init(
                instance: instance
                    ?? client.directory.path.split(separator: "/").last.map(String.init) ?? "/",
                stats: stats,
                description: description,
                present: try await client.accepted(.get, within: limit),
                held: held(stats.value, description.value),
                runner: runner?.isThere == true ? runner?.json : nil
            )
        }

        fileprivate var labels: [Label] {
            [("machine", self.description["machine"]?.string ?? ""), ("instance", self.instance)]
        }
    }

    /// A metric: its name without the prefix, its type, what it counts, and its values by labels.
    ///
    /// Those of a histogram are its buckets; its sum and its count follow as metrics without a type.
    private typealias Metric = (
        name: String, type: String, help: String, values: [(labels: [Label], value: String)]
    )
    fileprivate typealias Label = (name: String, value: String)

    /// The text, without the last newline; it has lines on commands only where there is a runner.
    ///
    /// - Parameters:
    ///   - samples: what the machines report that answer.
    ///   - missing: the machines that do not; nil where that is not to be told.
    /// - Returns: the text; each family once, whichever machines it is of.
    package static func text(_ samples: [Sample], missing: [String]? = nil) -> String {
        var metrics: [Metric] = []
        if let missing {
            // What a machine is called is not known of one that does not answer, and a series is one by its labels.
            let up =
                samples.map { ([("instance", $0.instance)] as [Label], "1") }
                + missing.map { ([("instance", $0)], "0") }
            metrics.append(("up", "gauge", "Whether the machine's daemon answers.", up))
        }
        for sample in samples {
            let all =
                self.state(sample) + self.fields(sample) + self.transitions(sample.stats)
                + self.counters(sample.stats) + self.gauges(sample.stats)
                + self.engine(sample.stats) + self.commands(sample.runner)
            for metric in all {
                let values = metric.values.map { (sample.labels + $0.labels, $0.value) }
                // All lines of a metric stand together, whichever machine they belong to.
                if let index = metrics.firstIndex(where: { $0.name == metric.name }) {
                    metrics[index].values += values
                } else {
                    metrics.append((metric.name, metric.type, metric.help, values))
                }
            }
        }
        return metrics.filter { !$0.values.isEmpty }.map { metric in
            let name = "statemachine_\(metric.name)"
            let head = ["# HELP \(name) \(metric.help)\n# TYPE \(name) \(metric.type)"]
            let row = metric.type == Self.histogram ? "\(name)_bucket" : name
            let lines = metric.values.map { "\(row)\(self.text($0.labels)) \($0.value)" }
            return ((metric.type.isEmpty ? [] : head) + lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static let histogram = "histogram"

    // MARK: - The state

    private static func state(_ sample: Sample) -> [Metric] {
        let names = (sample.description["states"]?.elements ?? []).compactMap {
            $0["state"]?.string
        }
        let present = sample.present.state?.name
        let flags = { (isSet: (String) -> Bool) -> [(labels: [Label], value: String)] in
            names.map { ([("state", $0)], isSet($0) ? "1" : "0") }
        }
        return [
            (
                "state", "gauge", "1 for the present state, 0 for each other.",
                flags { present?.isSpelled($0) == true }
            ),
            (
                "state_since_timestamp_seconds", "gauge",
                "When the present state was entered, or updated.",
                sample.present.at.map { [([], self.seconds($0))] } ?? []
            ),
            (
                "due_timestamp_seconds", "gauge", "When the state will end by itself.",
                sample.present.due.map { [([], self.seconds($0.at))] } ?? []
            ),
            (
                "held", "gauge", "Whether a hold or guard keeps the state from being entered.",
                flags(sample.held.contains)
            ),
        ] + self.mark(sample) + self.obstacles(sample)
    }

    /// How the file marks the present state: one of three series, so that an alert stays one over all states of a mark.
    private static func mark(_ sample: Sample) -> [Metric] {
        let states = sample.description["states"]?.elements ?? []
        guard states.contains(where: { $0["mark"] != nil }) else { return [] }
        let present = sample.present.state?.name
        let mark = states.first { $0["state"]?.string == present }?["mark"]?.string
        return [
            (
                "mark", "gauge", "1 for the mark that the file gives the present state.",
                ["good", "warn", "bad"].map { ([("mark", $0)], $0 == mark ? "1" : "0") }
            )
        ]
    }

    /// What keeps the machine from changing; nothing of a daemon that does not say so.
    private static func obstacles(_ sample: Sample) -> [Metric] {
        let features = sample.description["features"]?.elements ?? []
        guard features.contains(where: { $0.string == "obstacles" }) else { return [] }
        let ms = sample.stats["overdue"]?["ms"]?.integer ?? 0
        return [
            (
                "overdue_seconds", "gauge",
                "For how long what is due has been tried in vain, or is withheld; 0 if nothing is.",
                [([], "\(ms / 1000).\((ms % 1000).magnitude.digits(3))")]
            ),
            (
                "own_moves_suspended", "gauge",
                "Whether the machine's own moves are withheld, as there were too many.",
                [([], sample.stats["suspended"] == nil ? "0" : "1")]
            ),
            (
                "changes_refused", "gauge",
                "Whether changes are refused, as the last one could not be recorded.",
                [([], sample.stats["trouble"] == nil ? "0" : "1")]
            ),
        ]
    }

    /// The present state's fields that are numbers.
    private static func fields(_ sample: Sample) -> [Metric] {
        guard let state = sample.present.state else { return [] }
        let values = state.data.compactMap { member in
            self.number(member.value).map {
                ([("state", state.name), ("field", member.key)] as [Label], $0)
            }
        }
        let help =
            "The present state's fields: numbers, times in milliseconds, instants in seconds since 1970, Booleans as 1 and 0."
        return [("field", "gauge", help, values)]
    }

    private static func number(_ value: JSONValue) -> String? {
        switch value {
        case .bool(let bool): bool ? "1" : "0"
        case .number(let text): Double(text).flatMap { $0.isFinite ? text : nil }
        case .string(let text): WallTime(rfc3339: text).map { self.seconds($0) }
        case .null, .array, .object: nil
        }
    }

    private static func transitions(_ reply: Line) -> [Metric] {
        let values = (reply["transitions"]?.elements ?? []).compactMap { row in
            row["count"]?.integer.map { count in
                (["from", "to"].map { ($0, row[$0]?.string ?? "") }, String(count))
            }
        }
        return [
            (
                "transitions_total", "counter", "Changes by what was left and what was entered.",
                values
            )
        ]
    }

    private static func seconds(_ time: WallTime) -> String {
        let (seconds, rest) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let sign = time.microseconds < 0 ? "-" : ""
        return "\(sign)\(seconds.magnitude).\(rest.magnitude.digits(6))"
    }

    // MARK: - The daemon and the runner

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
            ("resyncs", "resyncs_total", "Notices to readers that they missed changes."),
            ("bytes", "sent_bytes_total", "Bytes sent."),
            ("writes", "writes_total", "Writes to sockets."),
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
            ("lag_max", "gauge", "Changes that the slowest watch is behind.", [([], String(lag))]),
            (
                "seq", "gauge", "The number of the last change.",
                [([], reply.seq.map(String.init) ?? "NaN")]
            ),
            (
                "uptime_seconds", "gauge", "Seconds since the daemon's start.",
                [([], "\(uptime / 1000).\((uptime % 1000).magnitude.digits(3))")]
            ),
        ]
    }

    /// What a host counts of a machine that several share; nothing of one that is its host's alone.
    private static func engine(_ reply: Line) -> [Metric] {
        guard let engine = reply["engine"] else { return [] }
        let counters: [(key: String, name: String, help: String)] = [
            ("overtaken", "overtaken_total", "Groups judged again, as another host was first."),
            ("tickets", "tickets_total", "Tickets put, as others were first too often."),
            (
                "unsure", "unsure_total",
                "Groups of which it was not known in time whether they are."
            ),
            ("connects", "connects_total", "Connections to the engine."),
            ("sessionsLost", "session_lost_total", "Sessions that ended before the daemon did."),
            ("caughtUp", "catch_up_changes_total", "Changes of others that a read brought."),
            ("watchGaps", "watch_gaps_total", "How often the engine's watch lacked something."),
            ("epochs", "epoch_changes_total", "How often the machine went on in a new epoch."),
        ]
        let stale = engine["staleMs"]?.integer ?? 0
        return [
            (
                "engine_up", "gauge",
                "Whether the machine is shown as all hosts have it, and can be changed.",
                [([], engine["up"]?.bool == true ? "1" : "0")]
            ),
            (
                "stale_seconds", "gauge", "How old what is shown may be; 0 if it is what all have.",
                [([], "\(stale / 1000).\((stale % 1000).magnitude.digits(3))")]
            ),
            (
                "hosts", "gauge", "Hosts that share the machine and are there.",
                engine["hosts"]?.integer.map { [([], String($0))] } ?? []
            ),
        ]
            + counters.compactMap { counter in
                engine[counter.key]?.integer.map {
                    (counter.name, "counter", counter.help, [([], String($0))])
                }
            } + self.commits(engine["commits"])
    }

    /// How long the engine took to commit.
    private static func commits(_ commits: JSONValue?) -> [Metric] {
        let counts = (commits?["counts"]?.elements ?? []).map { $0.integer ?? 0 }
        guard !counts.isEmpty else { return [] }
        let bounds = (commits?["us"]?.elements ?? []).map { bound in
            "\(Double(bound.integer ?? 0) / 1_000_000)"
        }
        var (buckets, count) = ([([Label], String)](), Int64(0))
        for (bound, more) in zip(bounds + ["+Inf"], counts) {
            count &+= more
            buckets.append(([("le", bound)], String(count)))
        }
        let total = WallTime(microseconds: commits?["totalUs"]?.integer ?? 0)
        return [
            (
                "commit_seconds", Self.histogram,
                "How long it took until a group of changes was committed.", buckets
            ),
            ("commit_seconds_sum", "", "", [([], self.seconds(total))]),
            ("commit_seconds_count", "", "", [([], String(count))]),
        ]
    }

    private static func commands(_ runner: JSONValue?) -> [Metric] {
        guard let runner else { return [] }
        let rows = runner["commands"]?.elements ?? []
        let counters = [
            ("runs", "command_runs_total", "Commands begun, each attempt counted."),
            (
                "failures", "command_failures_total",
                "Commands that ended in a way that the file does not handle."
            ),
            ("seconds", "command_seconds_total", "How long ended commands took."),
        ]
        var failures: [String: Int64] = [:]
        for row in rows where row["key"]?.string == "run" {
            failures[row["state"]?.string ?? "", default: 0] += row["failures"]?.integer ?? 0
        }
        let runs: Metric = (
            "run_failures_total", "counter",
            "Runs of a state that failed, each attempt counted, since the runner began.",
            failures.sorted { $0.key < $1.key }.map { ([("state", $0.key)], String($0.value)) }
        )
        let metrics = counters.map { key, name, help -> Metric in
            let values = rows.compactMap { row in
                row[key].map { (self.labels(row), $0.string ?? $0.description) }
            }
            return (name, "counter", help, values)
        }
        let isBusy = runner["running"] != nil
        return [runs] + metrics + [
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
