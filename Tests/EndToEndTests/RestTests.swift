import TestSupport
import Testing

/// What the daemon does when there is nothing to do.
@Suite(.bounded)
struct RestTests {
    @Test
    func atRestNoTimerRuns() async throws {
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
    @Test
    func afterGuardsWereAskedNoTimerRuns() async throws {
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
}
