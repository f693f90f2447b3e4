import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl's commands that read, where a session cannot show it: rules, times, terminals.
@Suite(.bounded) struct StatectlReadingTests {
    @Test func statsForPrometheusKeepTheRulesOfItsFormat() async throws {
        try await DaemonProcess.run { daemon in
            try await daemon.change(upTo: 3)
            let watcher = try daemon.connect(\.events)
            #expect(try await watcher.next().seq == 3)
            let text = try await daemon.statectl("stats", "--prometheus")
            #expect(text.status == .exited(0))
            let samples = try PrometheusSamples(parsing: text.output)
            let instance = try #require(daemon.directory.split(separator: "/").last)
            let labels = #"machine="",instance="\#(instance)""#
            #expect(samples["statemachine_changes_total{\(labels)}"] == 3)
            #expect(samples["statemachine_seq{\(labels)}"] == 3)
            #expect(samples["statemachine_watches{\(labels)}"] == 1)
            for door in ["events", "control"] {
                #expect(samples[#"statemachine_connections{\#(labels),door="\#(door)"}"#] == 1)
            }
            #expect(samples.total("statemachine_state{") == 1)
            #expect(samples.total("statemachine_transitions_total{") == 3)
            watcher.vanish()
        }
    }

    /// The status shows that the wait gave up after its own time, not another.
    @Test(arguments: [0, 1])
    func aWaitKeepsItsTimeWithADaemonThatIsStopped(timeout: Int) async throws {
        try await DaemonProcess.run { daemon in
            try daemon.send(.suspend)
            let waited = try await daemon.statectl(
                "wait",
                "authentication",
                "--timeout",
                "\(timeout)"
            )
            try daemon.send(.resume)
            #expect(waited.status == .exited(124))
            #expect(waited.errors.contains("is it stopped?"))
        }
    }

    @Test func whoBroughtAStateAboutIsKnownAfterARestart() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                let set = #"{"op":"set","state":"ready","data":{"value":true},"cause":"why so"}"#
                _ = try await daemon.ask(\.control, set)
                let got = try await daemon.ask(\.control, "get")
                #expect(got.string("cause") == "why so")
            }
            _ = try await DaemonProcess.run(in: directory, isDurable: true) { daemon in
                var got = try await daemon.ask(\.control, "get")
                // The cause is read while the daemon starts.
                while !got.has("cause") { got = try await daemon.ask(\.control, "get") }
                #expect(got.string("cause") == "why so")
                #expect(got.item("by")?.int("pid") == Int(getpid()))
            }
        }
    }

    @Test func withoutACommandItIsShownOnATerminalAndElsewhere() async throws {
        try await DaemonProcess.run { daemon in
            let shown = try await daemon.shown("")
            #expect(shown.contains("state") && shown.contains("ready"), "\(shown)")
            let piped = try await daemon.statectl()
            #expect(piped.status == .exited(0))
            #expect(piped.output.hasPrefix("state     ready(false)"), "\(piped.output)")
        }
    }

    @Test func timesAreLocalOrInUTC() async throws {
        try await DaemonProcess.run { daemon in
            func shown(_ words: [String]) async throws -> String {
                let ended = try await daemon.statectl(words, environment: ["TZ": "<+05>-5"])
                return ended.output + ended.errors
            }
            let line = try await daemon.ask(\.control, "set ready true")
            let at = try #require(line.string("at"))
            // hh:mm:ss.mmm of 2026-11-20T21:55:03.120007Z.
            let time = at.dropFirst(11).prefix(12)
            let hour = try #require(Int(time.prefix(2)))
            let local = (hour + 5) % 24
            let localTime = (local < 10 ? "0" : "") + "\(local)" + time.dropFirst(2)
            #expect(try await shown(["history"]).contains(localTime))
            #expect(try await shown(["history", "--utc"]).contains("\(time)Z"))
            // Times within the daemon's sentences are shown the same way.
            let words = ["wait", "authentication", "--timeout", "10ms"]
            let late = try await shown(words)
            #expect(late.contains(localTime) && !late.contains(at), "\(late)")
            let utc = try await shown(["--utc"] + words)
            #expect(utc.contains("\(time)Z"), "\(utc)")
        }
    }

    @Test func aWatchThatIsShownAsAskedForIsEmptyWhileTheDaemonIsGone() async throws {
        try await withTemporaryDirectory { directory in
            let arguments = [
                "--runtime-directory", "\(directory)/run", "watch", "--format", "[{state}]",
            ]
            let status = try await StatectlProcess.run(arguments) { watch in
                _ = try await watch.next()
                _ = try await DaemonProcess.run(in: directory) { daemon in
                    #expect(try await watch.next() == "[ready]")
                    _ = try await daemon.ask(\.control, "set authentication phase=idle")
                    #expect(try await watch.next() == "[authentication]")
                }
                #expect(try await watch.next() == "[]")
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let lines = [try await watch.next(), try await watch.next()]
                    #expect(lines.contains("[ready]"))
                    #expect(lines.contains { $0.contains("the daemon was restarted") })
                    try watch.send(.terminate)
                }
            }
            #expect(status == .signaled(15))
        }
    }

    /// On a terminal that script(1) makes, and that reports its width.
    @Test(arguments: [40, 100]) func noLineIsWiderThanTheTerminal(width: Int) async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            for phase in ["idle", "active", "success"] {
                let cause = String(repeating: "a long reason ", count: 8)
                let reply = try await client.ask(
                    #"{"op":"set","state":"authentication","data":{"phase":"\#(phase)"},"cause":"\#(cause)"}"#
                )
                #expect(reply.ok == true)
            }
            _ = try await client.hold("ready", #""why":"backup""#)
            for words in ["history", "watch --count 1", "stats", "status"] {
                let shown = try await daemon.shown(words, width: width)
                let lines = shown.split(whereSeparator: \.isNewline)
                #expect(lines.count > 0)
                let tooLong = lines.filter { $0.count > width }
                #expect(tooLong == [], "\(words)")
            }
            client.vanish()
        }
    }

    /// However long the cause, and however narrow the terminal.
    @Test(arguments: [40, 60, 80, 100, 120]) func whoDidItIsShownWhole(width: Int) async throws {
        try await DaemonProcess.run { daemon in
            let cause = String(repeating: "a long reason ", count: 8)
            for phase in ["idle", "active", "success"] {
                let set = try await daemon.statectl(
                    "set",
                    "authentication",
                    "phase=\(phase)",
                    "--cause",
                    cause
                )
                #expect(set.status == .exited(0))
            }
            let since = try await daemon.epoch() + ":0"
            for words in ["history", "watch --since \(since) --count 3"] {
                let shown = try await daemon.shown(words, width: width)
                #expect(shown.matches(of: /by \S+ \(statectl\)/).count == 3, "\(shown)")
            }
            let piped = try await daemon.statectl("history")
            #expect(piped.output.matches(of: /(a long reason ){7}a long reason/).count == 3)
        }
    }

    @Test(arguments: ["describe", "set ready maybe", "get --nosuch", "set --help", "wiat"])
    func whatIsSaidIsFoldedBetweenWords(words: String) async throws {
        try await DaemonProcess.run { daemon in
            let shown = try await daemon.shown(words, width: 40)
            let lines = shown.split(whereSeparator: \.isNewline)
            #expect(lines.count > 1)
            // A longer word has a line of its own.
            let tooLong = lines.filter { $0.count > 40 && $0.drop { $0 == " " }.contains(" ") }
            #expect(tooLong == [])
            let piped = try await daemon.statectl(words.split(separator: " ").map(String.init))
            let whole = (piped.output + piped.errors).filter { !$0.isWhitespace }
            #expect(shown.filter { !$0.isWhitespace } == whole || words.hasSuffix("--help"))
        }
    }
}

extension DaemonProcess {
    /// Runs one that has made so many changes, of which the ring has the last 64.
    static func run(
        changes count: Int,
        isDurable: Bool = true,
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await Self.run("--ring-changes", "64", isDurable: isDurable) { daemon in
            try await daemon.change(upTo: count)
            try await body(daemon)
        }
    }

    /// Sets `ready` to true, false and so on, up to that seq.
    func change(after first: Int = 0, upTo last: Int) async throws {
        try await self.connect(\.control).pipeline(first + 1...last) {
            "set ready value=\($0 % 2 == 1)"
        }
    }
}

/// Prometheus's text format 0.0.4, parsed as strictly as its documentation defines it.
private struct PrometheusSamples {
    private var values: [String: Double] = [:]

    /// The value of a sample, named with its labels as in the text.
    subscript(sample: String) -> Double? { self.values[sample] }

    /// The sum of the samples whose names begin so.
    func total(_ prefix: String) -> Double {
        self.values.filter { $0.key.hasPrefix(prefix) }.values.reduce(0, +)
    }

    /// - Throws: ``TestFailure`` that names the line and the rule it breaks.
    init(parsing text: String) throws {
        guard text.hasSuffix("\n") else { throw TestFailure("the last line has no newline") }
        var metric = ""
        var type: String?
        var helped: Set<String> = []
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            func broken(_ rule: String) -> TestFailure { TestFailure("\(rule): \(line)") }
            if let match = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)/) {
                metric = String(match.1)
                type = nil
                guard helped.insert(metric).inserted else { throw broken("a metric in two groups") }
            } else if let match = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) ([a-z]+)/)
            {
                guard match.1 == metric, type == nil else { throw broken("a type out of place") }
                guard ["counter", "gauge"].contains(match.2) else { throw broken("an odd type") }
                // `promtool check metrics` requires this too.
                guard (match.2 == "counter") == metric.hasSuffix("_total") else {
                    throw broken("_total is for counters, and for all of them")
                }
                type = String(match.2)
            } else if let match = line.wholeMatch(
                of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:{([a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*",?)+})? (\S+)/
            ) {
                guard match.1 == metric, type != nil else { throw broken("a sample out of place") }
                guard let value = Double(match.3) else { throw broken("no number") }
                let name = String(line.dropLast(match.3.count + 1))
                guard self.values.updateValue(value, forKey: name) == nil else {
                    throw broken("a sample twice")
                }
            } else {
                throw broken("neither HELP nor TYPE nor a sample")
            }
        }
    }
}
