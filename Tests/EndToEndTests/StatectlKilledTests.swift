import Foundation
import Subprocess
import TestSupport
import Testing

/// What becomes of a command, and of a gate, when statectl is killed.
@Suite(.bounded) struct StatectlKilledTests {
    /// Waits until a set is no longer denied.
    private func whenSet(_ daemon: DaemonProcess, _ line: String) async throws {
        let client = try daemon.connect(\.control)
        for _ in 0..<longestWait / 10 {
            if try await client.ask(line).ok == true { return client.vanish() }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw TestFailure("still denied: \(line)")
    }

    @Test func theGateOfAKilledHoldOpensWhenItsCommandHasEnded() async throws {
        try await DaemonProcess.run { daemon in
            let fifo = try FIFO(beside: daemon.directory)
            let script = """
                trap 'echo told; read go <"$0"; exit' TERM
                sh -c 'trap "" TERM; read go <"$0"' "$0" & echo begun; wait
                """
            let arguments = ["hold", "--before", "ready", "--", "sh", "-c", script, fifo.path]
            let status = try await daemon.withStatectl(arguments) { hold in
                #expect(try await hold.next() == "begun")
                try hold.send(.kill)
                #expect(try await hold.next() == "told")
                let set = "set ready value=true"
                #expect(try await daemon.ask(\.control, set).error == "denied")
                // One for the command, and one for what it has started.
                try fifo.open()
                try fifo.open()
                try await self.whenSet(daemon, set)
            }
            #expect(status == .signaled(9))
        }
    }

    @Test func aHoldThatWasTakenAgainIsKeptForItsCommandToo() async throws {
        try await withTemporaryDirectory { directory in
            let fifo = try FIFO(beside: "\(directory)/run")
            let script = """
                trap 'echo told; read go <"$0"; exit' TERM
                tail -f /dev/null & echo begun; wait
                """
            let (lines, sent) = AsyncStream.makeStream(of: Int.self)
            let arguments = [
                "--runtime-directory", "\(directory)/run", "hold", "--wait", "--verbose",
                "--before", "ready", "--", "sh", "-c", script, fifo.path,
            ]
            async let hold = StatectlProcess.run(arguments) { hold in
                defer { sent.finish() }
                #expect(try await hold.next().hasSuffix("waiting for the daemon"))
                sent.yield(0)
                var next = ""
                repeat { next = try await hold.next() } while next != "begun"
                sent.yield(1)
                #expect(try await hold.next().hasSuffix("; reconnecting"))
                sent.yield(2)
                #expect(try await hold.next().hasSuffix(" is taken again"))
                try hold.send(.kill)
                #expect(try await hold.next() == "told")
                sent.yield(3)
            }
            var steps = lines.makeAsyncIterator()
            _ = await steps.next()
            _ = try await DaemonProcess.run(in: directory) { daemon in
                var steps = lines.makeAsyncIterator()
                _ = await steps.next()
                try daemon.send(.kill)
                _ = await steps.next()
            }
            _ = try await DaemonProcess.run(in: directory) { daemon in
                var steps = lines.makeAsyncIterator()
                _ = await steps.next()
                let set = "set ready value=true"
                #expect(try await daemon.ask(\.control, set).error == "denied")
                try fifo.open()
                try await self.whenSet(daemon, set)
            }
            #expect(try await hold == .signaled(9))
        }
    }

    @Test(arguments: [["--each"], []])
    func theCommandOfAKilledWatchEnds(options: [String]) async throws {
        try await DaemonProcess.run { daemon in
            let script = "trap 'echo told; exit' TERM; tail -f /dev/null & echo begun; wait"
            let arguments = ["watch"] + options + ["--exec", "sh", "-c", script]
            let status = try await daemon.withStatectl(arguments) { watch in
                if !options.isEmpty {
                    try await daemon.awaitWatches(1)
                    #expect(try await daemon.ask(\.control, "set ready value=true").ok == true)
                }
                #expect(try await watch.next() == "begun")
                try watch.send(.kill)
                #expect(try await watch.next() == "told")
            }
            #expect(status == .signaled(9))
        }
    }

    @Test(arguments: [Signal.kill, .terminate])
    func theCommandOfAGuardEndsWithIt(signal: Signal) async throws {
        try await DaemonProcess.run { daemon in
            let script = "trap 'echo told; exit' TERM; tail -f /dev/null & echo begun; wait"
            let arguments = [
                "guard", "--before", "authentication", "--timeout", "60", "--verbose", "--",
                "sh", "-c", script,
            ]
            let client = try daemon.connect(\.control)
            let status = try await daemon.withStatectl(arguments) { voter in
                #expect(try await voter.next().hasSuffix("sh decides"))
                try client.send("set authentication phase=active")
                #expect(try await voter.next().hasPrefix("statectl: asked about "))
                #expect(try await voter.next() == "begun")
                try voter.send(signal)
                #expect(try await voter.next() == "told")
            }
            #expect(status == .signaled(signal.rawValue))
            // Nobody is left to say no.
            #expect(try await client.next().ok == true)
            client.vanish()
        }
    }

    /// It is killed after ten seconds.
    @Test func aGuardEndsWhoseCommandIgnoresSIGTERM() async throws {
        try await DaemonProcess.run { daemon in
            let script = "trap '' TERM; echo begun; while :; do tail -f /dev/null; done"
            let arguments = [
                "guard", "--before", "authentication", "--timeout", "60", "--verbose", "--",
                "sh", "-c", script,
            ]
            let client = try daemon.connect(\.control)
            let status = try await daemon.withStatectl(arguments) { voter in
                #expect(try await voter.next().hasSuffix("sh decides"))
                try client.send("set authentication phase=active")
                #expect(try await voter.next().hasPrefix("statectl: asked about "))
                #expect(try await voter.next() == "begun")
                try voter.send(.terminate)
            }
            #expect(status == .signaled(15))
            client.vanish()
        }
    }

    @Test(arguments: [Signal.kill, .terminate])
    func dotEndsWithStatectl(signal: Signal) async throws {
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
            try await drawing.end(by: signal.rawValue)
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
