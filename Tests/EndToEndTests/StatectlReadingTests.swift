import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl's commands that read: history, stats, wait.
@Suite(.bounded)
struct StatectlReadingTests {
    @Test
    func historyShowsTheNewestFirstAndSaysWhereItGoesOn() async throws {
        try await DaemonProcess.run { daemon in
            try await daemon.change(upTo: 3)
            let epoch = try await daemon.epoch()
            let all = try await daemon.statectl("history")
            #expect(all.status == .exited(0))
            let lines = all.output.split(separator: "\n")
            #expect(lines.count == 3)
            for (seq, line) in zip([3, 2, 1], lines) { #expect(line.contains("  #\(seq) ")) }

            let one = try await daemon.statectl("history", "--until", "\(epoch):3", "--limit", "1")
            #expect(one.output.contains("  #2 "))
            #expect(!one.output.contains("  #3 "))
            #expect(one.errors.hasSuffix("— there are more: -n all, or --until \(epoch):2\n"))
            let words = ["history", "--since", "\(epoch):1", "-n", "1", "--oldest-first"]
            let next = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory] + words
            )
            #expect(next.output.contains("  #2 "))
            #expect(next.errors.hasSuffix("— there are more: --oldest-first --since \(epoch):2\n"))

            let json = try await daemon.statectl("history", "ready:value=false", "--json")
            let rows = try json.output.split(separator: "\n").map { try JSONLine(String($0)) }
            #expect(rows.map(\.type) == ["change", "reply"])
            #expect(rows.map { $0.int("count") } == [nil, 1])
            #expect(rows.first?.seq == 2)
        }
    }

    @Test
    func statsShowEveryConnectionAndTheCounters() async throws {
        try await DaemonProcess.run { daemon in
            try await daemon.change(upTo: 2)
            let holder = try daemon.connect(\.control)
            _ = try await holder.hold("authentication", #""why":"x""#)
            let watcher = try daemon.connect(\.events)
            #expect(try await watcher.next().seq == 2)
            let text = try await daemon.statectl("stats")
            #expect(text.status == .exited(0))
            let rows = text.output.split(separator: "\n").map {
                $0.split(separator: " ").map(String.init)
            }
            #expect(rows.first?.first == "who")
            let own = "(\(getpid()))"
            // Door, watches, waits, holds, guards, lag: this process's two connections.
            let mine = rows.filter { $0.count > 7 && $0[1] == own }.map { Array($0[2...7]) }
            #expect(mine.contains(["control", "0", "0", "1", "0", "0"]))
            #expect(mine.contains(["events", "1", "0", "0", "0", "0"]))
            #expect(rows.contains(["changes", "2"]))
            holder.vanish()
            watcher.vanish()
        }
    }

    @Test
    func statsForPrometheusKeepTheRulesOfItsFormat() async throws {
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

    @Test
    func aWaitSeesWhatHasPassedSinceItsCursor() async throws {
        try await DaemonProcess.run { daemon in
            try await daemon.change(upTo: 2)
            let epoch = try await daemon.epoch()
            let passed = try await daemon.statectl(
                "wait",
                "ready:value=true",
                "--since",
                "\(epoch):0",
                "--json"
            )
            #expect(passed.status == .exited(0))
            #expect(try JSONLine(passed.output).seq == 1)
            let failed = try await daemon.statectl(
                "wait",
                "authentication",
                "--fail",
                "ready:value=true",
                "--since",
                "\(epoch):0"
            )
            #expect(failed.status == .exited(1))
            let late = try await daemon.statectl(
                "wait",
                "ready:value=true",
                "--since",
                "\(epoch):1",
                "--timeout",
                "0"
            )
            #expect(late.status == .exited(124))
            #expect(late.errors.hasPrefix("statectl: the state is still ready(false) after 0 ms"))
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
}

extension DaemonProcess {
    /// Sets `ready` to true, false and so on, up to that seq.
    func change(upTo seq: Int) async throws {
        let client = try self.connect(\.control)
        for number in 1...seq {
            let reply = try await client.ask("set ready value=\(number % 2 == 1)")
            #expect(reply.seq == number)
        }
    }
}
