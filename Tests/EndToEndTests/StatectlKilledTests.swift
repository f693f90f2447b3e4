import Foundation
import Subprocess
import TestSupport
import Testing

/// What becomes of a command, and of a gate, when statectl is killed.
@Suite(.bounded) struct StatectlKilledTests {
    /// A statectl whose output outlives it.
    private struct Tool: Sendable {
        let process: SpawnedProcess
        private let output: String

        /// Starts it for the daemon in `directory`.
        init(_ directory: String, _ words: [String]) throws {
            self.output = "\(directory)/tool.out"
            self.process = try SpawnedProcess(
                [try BuiltProduct.statectl.path, "--runtime-directory", "\(directory)/run"] + words,
                output: self.output
            )
        }

        /// Waits until it, or its command, has said that.
        func wait(for text: String) async throws {
            _ = try await TestSupport.wait(for: [text], in: self.output)
        }
    }

    /// Runs a daemon, and `body` with the test's directory.
    private func run(
        _ body: @escaping @Sendable (DaemonProcess, _ directory: String) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            _ = try await DaemonProcess.run(in: directory) { try await body($0, directory) }
        }
    }

    /// Waits until a set is no longer denied.
    private func whenSet(_ daemon: DaemonProcess, _ line: String) async throws {
        let client = try daemon.connect(\.control)
        for _ in 0..<longestWait / 10 {
            if try await client.ask(line).ok == true { return client.vanish() }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw TestFailure("still denied: \(line)")
    }

    /// A guard whose script has been asked, and the client that waits for the answer.
    private func asked(
        _ daemon: DaemonProcess,
        _ directory: String,
        _ script: String
    ) async throws -> (voter: Tool, client: LineSocket) {
        let voter = try Tool(
            directory,
            ["guard", "--before", "authentication", "--timeout", "60", "--verbose", "--"]
                + ["sh", "-c", script]
        )
        try await voter.wait(for: "sh decides")
        let client = try daemon.connect(\.control)
        try client.send("set authentication phase=active")
        try await voter.wait(for: "begun")
        return (voter, client)
    }

    @Test func theGateOfAKilledHoldOpensWhenItsCommandHasEnded() async throws {
        try await self.run { daemon, directory in
            let fifo = try FIFO(beside: directory)
            let script = """
                trap 'echo told; read go <"$0"; exit' TERM
                sh -c 'trap "" TERM; read go <"$0"' "$0" & echo begun; wait
                """
            let hold = try Tool(
                directory,
                ["hold", "--before", "ready", "--", "sh", "-c", script, fifo.path]
            )
            try await hold.wait(for: "begun")
            #expect(try await hold.process.end(by: SIGKILL) == -SIGKILL)
            try await hold.wait(for: "told")
            let set = "set ready value=true"
            #expect(try await daemon.ask(\.control, set).error == "denied")
            // One for the command, and one for what it has started.
            try fifo.open()
            try fifo.open()
            try await self.whenSet(daemon, set)
        }
    }

    @Test func aHoldThatWasTakenAgainIsKeptForItsCommandToo() async throws {
        try await withTemporaryDirectory { directory in
            let fifo = try FIFO(beside: directory)
            let script = """
                trap 'echo told; read go <"$0"; exit' TERM
                tail -f /dev/null & echo begun; wait
                """
            let hold = try Tool(
                directory,
                ["hold", "--wait", "--verbose", "--before", "ready", "--", "sh", "-c", script]
                    + [fifo.path]
            )
            try await hold.wait(for: "waiting for the daemon")
            _ = try await DaemonProcess.run(in: directory) { daemon in
                try await hold.wait(for: "begun")
                try daemon.send(.kill)
            }
            _ = try await DaemonProcess.run(in: directory) { daemon in
                try await hold.wait(for: "is taken again")
                let client = try daemon.connect(\.control)
                try await hold.process.end(by: SIGKILL)
                try await hold.wait(for: "told")
                let set = "set ready value=true"
                #expect(try await client.ask(set).error == "denied")
                try fifo.open()
                try await self.whenSet(daemon, set)
                client.vanish()
            }
        }
    }

    @Test(arguments: [["--each"], []])
    func theCommandOfAKilledWatchEnds(options: [String]) async throws {
        try await self.run { daemon, directory in
            let script = "trap 'echo told; exit' TERM; tail -f /dev/null & echo begun; wait"
            let watch = try Tool(directory, ["watch"] + options + ["--exec", "sh", "-c", script])
            if !options.isEmpty {
                try await daemon.awaitWatches(1)
                #expect(try await daemon.ask(\.control, "set ready value=true").ok == true)
            }
            try await watch.wait(for: "begun")
            try await watch.process.end(by: SIGKILL)
            try await watch.wait(for: "told")
        }
    }

    @Test(arguments: [SIGKILL, SIGTERM])
    func theCommandOfAGuardEndsWithIt(signal: CInt) async throws {
        try await self.run { daemon, directory in
            // Its standard error is a pipe to statectl, which a killed one no longer reads.
            let script = """
                exec 2>/dev/null
                trap 'echo told; exit' TERM; tail -f /dev/null & echo begun; wait
                """
            let (voter, client) = try await self.asked(daemon, directory, script)
            try await voter.process.end(by: signal)
            try await voter.wait(for: "told")
            // Nobody is left to say no.
            #expect(try await client.next().ok == true)
            client.vanish()
        }
    }

    /// It is killed after ten seconds.
    @Test func aGuardEndsWhoseCommandIgnoresSIGTERM() async throws {
        try await self.run { daemon, directory in
            let script = "trap '' TERM; echo begun; while :; do tail -f /dev/null; done"
            let (voter, client) = try await self.asked(daemon, directory, script)
            #expect(try await voter.process.end(by: SIGTERM) == -SIGTERM)
            client.vanish()
        }
    }

    @Test(arguments: [SIGKILL, SIGTERM])
    func dotEndsWithStatectl(signal: CInt) async throws {
        try await withTemporaryDirectory { directory in
            let machine = "\(directory)/lamp.yaml"
            try "machine: lamp\nstart: dark\nstates: {dark: {}}\n"
                .write(toFile: machine, atomically: true, encoding: .utf8)
            let dot = "#!/bin/sh\necho $$ >\"\(directory)/pid\"\nexec tail -f /dev/null\n"
            try dot.write(toFile: "\(directory)/dot", atomically: true, encoding: .utf8)
            chmod("\(directory)/dot", 0o755)
            let drawing = try SpawnedProcess(
                ["/usr/bin/env", "PATH=\(directory):/bin:/usr/bin"]
                    + [try BuiltProduct.statectl.path, "graph", machine, "--format", "svg"],
                output: "\(directory)/out"
            )
            let pid = try #require(
                pid_t(try await wait(for: ["\n"], in: "\(directory)/pid").dropLast())
            )
            try await drawing.end(by: signal)
            try await blocking {
                for _ in 0..<longestWait / 10 {
                    if kill(pid, 0) != 0 { return }
                    usleep(10_000)
                }
                throw TestFailure("dot is still there")
            }
        }
    }
}
