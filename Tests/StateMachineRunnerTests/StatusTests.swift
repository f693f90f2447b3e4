import Foundation
import Glibc
import Subprocess
import TestSupport
import Testing

/// `statectl status` and `stats --prometheus` of a machine with commands.
@Suite(.bounded) struct StatusTests {
    private static let text = """
        machine: shown
        start: idle
        events: {go: {}, retry: {}}
        states:
          idle: {when: {go: working, retry: trying}}
          working:
            run: [/bin/sh, -c, 'echo runs >WITNESS; exec sleep 1000']
            when: {retry: trying}
          trying:
            run:
              command: [/bin/sh, -c, 'echo tries >WITNESS; exit 3']
              retry: {times: 1, wait: 1h}
            failed: idle
        """

    private static func statectl(
        _ machine: RunningMachine,
        _ words: String...
    ) async throws -> String {
        let result = try await BuiltProduct.statectl.run(
            ["--runtime-directory", machine.run, "--color", "never"] + words
        )
        #expect(result.status == .exited(0), "\(result.errors)")
        return result.output
    }

    private static func status(_ machine: RunningMachine) async throws -> JSONLine {
        let text = try await Self.statectl(machine, "status", "--json")
        return try JSONLine(String(text.dropLast()))
    }

    /// Waits until the status has the runner's `key`, or no longer has it, and returns it.
    private static func status(
        _ machine: RunningMachine,
        having key: String,
        _ isThere: Bool = true
    ) async throws -> JSONLine {
        for _ in 0..<longestWait / 50 {
            let status = try await Self.status(machine)
            if status.item("runner")?.has(key) == isThere { return status }
            _ = try await blocking { usleep(50_000) }
        }
        throw TestFailure("there was \(isThere ? "never" : "always") \(key): \(machine.said)")
    }

    @Test func whatWasNotBegunDoesNotRun() async throws {
        try await withRunningMachine(Self.text) { machine in
            try await machine.start()
            // It has read what it remembers once it reports what it does.
            _ = try await Self.status(machine, having: "blocked", false)
            // Nothing is begun before it is remembered.
            try FileManager.default.removeItem(atPath: "\(machine.directory)/memory")
            _ = try await machine.ask("send go")
            let blocked = try await Self.status(machine, having: "blocked")
            #expect(blocked.item("runner")?.has("running") == false)
            mkdir("\(machine.directory)/memory", 0o700)
            #expect(try await machine.witness.next() == "runs")
            let running = try await Self.status(machine, having: "running")
            #expect(running.item("runner")?.has("blocked") == false)
        }
    }

    @Test func aProgramThatIsNotThereCouldNotBeStarted() async throws {
        let text = """
            start: idle
            events: {go: {}}
            states:
              idle: {when: {go: missing}}
              missing: {run: {command: /nonexistent/program, retry: {times: 1, wait: 1h}}, failed: idle}
            """
        try await withRunningMachine(text) { machine in
            try await machine.start()
            _ = try await machine.ask("send go")
            let failed = try await Self.status(machine, having: "lastFailure")
            #expect(failed.item("runner")?.item("lastFailure")?.string("end") == "exit 203")
            let shown = try await Self.statectl(machine, "status")
            #expect(shown.contains(": could not be started (203)\n"), "\(shown)")
        }
    }

    /// A row of interruptions is shown as long as nothing has lasted, and after it what it has come to.
    @Test func aRowOfInterruptionsIsShown() async throws {
        let text = """
            machine: shown
            start: working
            states:
              working:
                run: [/bin/sh, -c, 'trap "" TERM; echo runs >WITNESS; exec sleep 1000']
                failed: broken
              broken: {final: true}
            """
        try await withRunningMachine(text) { machine in
            try await machine.start()
            for row in 1...3 {
                #expect(try await machine.witness.next() == "runs")
                try await machine.runner.end(by: SIGKILL)
                try await machine.startRunner()
                try await machine.logged("interruptions=\(row)")
            }
            #expect(try await machine.witness.next() == "runs")
            let running = try await Self.status(machine, having: "running")
            #expect(running.item("runner")?.item("running")?.int("interruptions") == 3)
            let shown = try await Self.statectl(machine, "status")
            #expect(
                shown.contains(
                    "\nrunning    working run, attempt 1, interrupted 3 times in a row, for "
                ),
                "\(shown)"
            )
            try await machine.runner.end(by: SIGKILL)
            try await machine.startRunner()
            #expect(try await machine.ask(#"{"op":"wait","until":["broken"]}"#).state == "broken")
            let failed = try await Self.status(machine, having: "lastFailure")
            #expect(failed.item("runner")?.item("lastFailure")?.int("interruptions") == 4)
            let text = try await Self.statectl(machine, "status")
            #expect(text.contains(": interrupted 4 times in a row\n"), "\(text)")
            try await machine.logged(
                "the command was interrupted too often in a row, it has failed"
            )
        }
    }

    @Test func whatWaitsAndWhyIsShown() async throws {
        let text = """
            start: idle
            events: {go: {}}
            states:
              idle: {when: {go: busy}}
              busy:
                enter: {command: [/bin/sh, -c, 'echo here >WITNESS; exec sleep 1000'], timeout: 1h}
                when: {go: busy}
            """
        try await withRunningMachine(text) { machine in
            try await machine.start()
            // From here on the runner hears of every change.
            try await machine.logged("connected")
            for _ in 1...3 { _ = try await machine.ask("send go") }
            #expect(try await machine.witness.next() == "here")
            _ = try await Self.status(machine, having: "running")
            let waiting = try await Self.statectl(machine, "status")
            #expect(waiting.contains("\nwaiting    the hooks of 3 changes\n"), "\(waiting)")
            #expect(!waiting.contains("blocked"))
            try machine.write(text + "\n    about: another\n")
            try machine.runner.send(SIGHUP)
            let blocked = try await Self.status(machine, having: "blocked")
            #expect(
                blocked.item("runner")?.string("blocked")
                    == "the machine's file differs from what the daemon has loaded"
            )
            #expect(
                try await Self.statectl(machine, "status")
                    .contains(
                        "\nblocked    nothing is started: the machine's file differs from what the daemon has loaded\n"
                    )
            )
            try machine.daemon.send(SIGHUP)
            _ = try await Self.status(machine, having: "blocked", false)
        }
    }

    @Test func whatRunsAndWhatFailedIsShown() async throws {
        try await withRunningMachine(Self.text) { machine in
            try await machine.startDaemon()
            let none = try await Self.status(machine)
            #expect(none.state == "idle" && none.has("runner") && none.item("runner") == nil)
            #expect(
                try await Self.statectl(machine, "status").contains(
                    "runner     none; no command is run"
                )
            )
            #expect(try await !Self.statectl(machine, "stats", "--prometheus").contains("command_"))

            try await machine.startRunner()
            _ = try await machine.ask("send go")
            #expect(try await machine.witness.next() == "runs")
            let running = try await Self.status(machine, having: "running")
            #expect(running.state == "working" && running.int("stay") == 1)
            let own = try #require(running.item("runner"))
            let pid = try machine.runner.pid
            #expect(own.int("pid") == Int(pid) && own.bool("isThere") == true)
            #expect(own.string("machine") == "shown" && !own.has("start"))
            let command = try #require(own.item("running"))
            #expect(command.state == "working" && command.string("key") == "run")
            #expect(command.int("attempt") == 1 && command.int("stay") == 1)
            let lines = try await Self.statectl(machine, "status").split(separator: "\n")
            #expect(lines.count == 7)
            // The runner itself.
            #expect(lines[1].hasPrefix("watching   ") && lines[1].contains("(\(pid), "))
            #expect(lines[2].hasPrefix("running    working run, attempt 1, for "))
            #expect(lines[3] == "runner     pid \(pid)")

            _ = try await machine.ask("send retry")
            #expect(try await machine.witness.next() == "tries")
            let trying = try await Self.status(machine, having: "next")
            let next = try #require(trying.item("runner")?.item("next"))
            #expect(next.state == "trying" && next.int("attempt") == 2)
            let failure = try #require(trying.item("runner")?.item("lastFailure"))
            #expect(failure.string("end") == "exit 3" && failure.int("attempt") == 1)
            let text = try await Self.statectl(machine, "status")
            #expect(text.contains("\nnext       trying run, attempt 2, in "), "\(text)")
            #expect(text.contains("\nfailed     trying run, attempt 1, "), "\(text)")
            #expect(text.contains(": exit 3\n"), "\(text)")

            let metrics = try await Self.statectl(machine, "stats", "--prometheus")
                .split(separator: "\n")
            for (name, sample) in [
                ("command_runs_total", #",state="trying",key="run"} 1"#),
                ("command_failures_total", #",state="trying",key="run"} 1"#),
                ("run_failures_total", #",state="trying"} 1"#), ("command_running", "} 0"),
            ] {
                #expect(
                    metrics.contains {
                        $0.hasPrefix("statemachine_\(name){machine=") && $0.hasSuffix(sample)
                    },
                    "\(name)"
                )
            }

            try await machine.runner.end(by: SIGKILL)
            #expect(try await Self.status(machine).item("runner")?.bool("isThere") == false)
            #expect(
                try await Self.statectl(machine, "status").contains("ended without saying so (pid ")
            )
            try await machine.startRunner()
            // A retry due in an hour is still due after the restart.
            #expect(try await Self.status(machine, having: "next").state == "trying")
        }
    }
}
