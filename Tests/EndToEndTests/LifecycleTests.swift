import Foundation
import Glibc
import Subprocess
import TestSupport
import Testing

/// How the daemon starts, rests and ends.
@Suite(.bounded) struct LifecycleTests {
    @Test(arguments: [Signal.terminate, .interrupt])
    func aSignalEndsItGracefully(signal: Signal) async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let control = try daemon.connect(\.control)
                let events = try daemon.connect(\.events)
                #expect(try await events.next().type == "state")
                try control.send(#"{"op":"wait","id":7,"until":["ready:value=true"]}"#)
                #expect(try await control.ask("ping").seq == 0)

                try daemon.send(signal)
                try await daemon.notify.wait(for: "STOPPING=1")

                let farewell = try await control.rest()
                #expect(farewell.map(\.type) == ["reply", "bye"])
                #expect(farewell.first?.error == "shutting-down")
                #expect(farewell.first?.int("id") == 7)
                #expect(farewell.last?.string("reason") == "shutdown")
                #expect(try await events.rest().map(\.type) == ["bye"])
            }
            #expect(ended.status == .exited(0))
            #expect(try FileManager.default.contentsOfDirectory(atPath: ended.runtime).isEmpty)
        }
    }

    @Test func aKilledDaemonsSocketsAreReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let killed = try await DaemonProcess.run(in: directory) { daemon in
                try daemon.send(.kill)
            }
            #expect(killed.status == .signaled(9))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: killed.runtime).sorted()
                    == ["control.sock", "events.sock", "statemachine.lock"]
            )
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let reply = try await daemon.ask(\.control, "ping")
                #expect(reply.ok == true)
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test func withoutARuntimeDirectoryItSaysWhichWereTried() async throws {
        let daemon = try BuiltProduct.statemachine.path
        let nowhere: [Environment.Key: String?] = [
            "RUNTIME_DIRECTORY": nil, "XDG_RUNTIME_DIR": nil,
        ]
        let refused =
            if getuid() == 0 {
                // Root has /run/statemachine; the user "nobody" has no directory.
                try await runTool(
                    .name("setpriv"),
                    ["--reuid=65534", "--regid=65534", "--clear-groups", daemon],
                    environment: nowhere
                )
            } else {
                try await BuiltProduct.statemachine.run([], environment: nowhere)
            }
        #expect(refused.status == .exited(78))
        for tried in ["--runtime-directory", "$RUNTIME_DIRECTORY", "$XDG_RUNTIME_DIR"] {
            #expect(refused.errors.contains(tried))
        }
    }

    @Test func aPathTooLongForASocketIsRefused() async throws {
        try await withTemporaryDirectory { directory in
            let long = directory + "/" + String(repeating: "x", count: 100)
            let refused = try await BuiltProduct.statemachine.run(["--runtime-directory", long])
            #expect(refused.status == .exited(78))
            #expect(refused.errors.contains("the socket path \(long)/"))
        }
    }

    @Test func atRestNoTimerRuns() async throws {
        try await DaemonProcess.run { daemon in
            let watcher = try daemon.connect(\.events)
            #expect(try await watcher.next().seq == 0)
            #expect(try await daemon.ask(\.control, "set ready value=true").seq == 1)
            #expect(try await watcher.next().seq == 1)
            // Start-up leaves one that ends after a second.
            try await comesToRest(daemon.pid)
        }
    }

    /// One guard stays silent past its deadline, one votes long before it.
    @Test func afterGuardsWereAskedNoTimerRuns() async throws {
        try await DaemonProcess.run { daemon in
            let voter = try daemon.connect(\.control)
            _ = try await voter.guard("g", "ready", #""timeoutMs":50"#)
            let setter = try daemon.connect(\.control)
            try setter.send("set ready value=true")
            #expect(try await voter.next().type == "ask")
            // Its silence counts as consent.
            #expect(try await setter.next().seq == 1)
            let patient = try daemon.connect(\.control)
            _ = try await patient.guard("p", "authentication", #""timeoutMs":60000"#)
            try setter.send("set authentication phase=active")
            #expect(try await patient.vote(try await patient.next(), true).ok == true)
            #expect(try await setter.next().seq == 2)
            try await comesToRest(daemon.pid)
        }
    }

    @Test func theManagerHearsThatItIsAliveUnlessItIsStopped() async throws {
        try await withIdleService { service in
            let daemon = try service.spawn(environment: ["WATCHDOG_USEC": "100000"])
            for _ in 0..<3 { try await service.notify.wait(for: "WATCHDOG=1") }
            daemon.send(SIGSTOP)
            try await daemon.stopped()
            daemon.send(SIGCONT)
            for _ in 0..<3 { try await service.notify.wait(for: "WATCHDOG=1") }
            #expect(try await daemon.end() == 0)
        }
    }
}
