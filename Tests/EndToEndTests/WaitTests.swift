import TestSupport
import Testing

/// Waits for a state.
@Suite(.bounded)
struct WaitTests {
    @Test
    func aWaitEvaluatesEveryChangeSinceThenTheCurrentState() async throws {
        try await DaemonProcess.run("--ring-changes", "8") { daemon in
            let client = try daemon.connect(\.control)
            _ = try await client.ask("set authentication phase=failure")
            for seq in 2...6 { _ = try await client.ask("set ready value=\(seq % 2 == 0)") }
            let epoch = try await daemon.epoch()
            let failed = #""until":["ready"],"fail":["authentication:phase=failure"]"#
            let passed = try await client.ask(
                #"{"op":"wait","id":1,"since":"\#(epoch):0",\#(failed)}"#
            )
            #expect(passed.error == "failed-state")
            #expect(passed.string("matched") == "authentication:phase=failure")
            #expect(passed.seq == 1)
            let later = try await client.ask(#"{"op":"wait","since":"\#(epoch):1",\#(failed)}"#)
            #expect(later.string("matched") == "ready")
            #expect(later.seq == 2)
            let now = try await client.ask(#"{"op":"wait",\#(failed)}"#)
            #expect(now.seq == 6)
            #expect(!now.has("resync"))
            let lost = try await client.ask(#"{"op":"wait","since":"\#(epoch):77",\#(failed)}"#)
            #expect(lost.seq == 6)
            #expect(lost.string("resync") == "unknown")
        }
    }

    @Test
    func failWinsIfBothMatch() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            let both = #"{"op":"wait","until":["authentication"],"fail":["authentication"]}"#
            try client.send(both)
            _ = try await daemon.ask(\.control, "set authentication phase=active")
            #expect(try await client.next().error == "failed-state")
            #expect(try await client.ask(both).error == "failed-state")
        }
    }

    @Test
    func aTimeoutSaysWhereItStillIs() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            let text = try await client.ask(
                #"{"op":"wait","until":["authentication"],"timeoutMs":20}"#
            )
            #expect(text.error == "timeout")
            #expect(
                text.string("message")?.hasPrefix("the state is still ready(false) after 20 ms, ")
                    == true
            )
            #expect(text.string("message")?.contains("since \(text.string("at") ?? "?")") == true)
            #expect(text.state == "ready")
        }
    }

    @Test
    func aCancelledWaitIsNotAnswered() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            try client.send(#"{"op":"wait","id":3,"until":["authentication"]}"#)
            #expect(try await client.ask(#"{"op":"unwatch","id":3}"#).ok == true)
            #expect(try await client.ask("set authentication phase=active").int("id") == nil)
            #expect(try await client.ask("ping").seq == 1)
            #expect(try await client.ask(#"{"op":"unwatch","id":3}"#).error == "not-found")
        }
    }

    @Test
    func aPendingWaitHoldsUpNoReply() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            for id in 1...32 {
                try client.send(#"{"op":"wait","id":\#(id),"until":["authentication"]}"#)
            }
            #expect(try await client.ask("ping").seq == 0)
            try client.send("set authentication phase=active")
            var waits: [Int?] = []
            for _ in 1...33 {
                let line = try await client.next()
                #expect(line.seq == 1)
                if line.has("matched") { waits.append(line.int("id")) }
            }
            #expect(waits == Array(1...32))
        }
    }
}
