import Foundation
import Subprocess
import TestSupport
import Testing

/// Pattern lists, and patterns that exclude states, wherever patterns are accepted.
@Suite(.bounded)
struct PatternListTests {
    private func run(
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await DaemonProcess.run(in: directory, body)
            #expect(ended.status == .exited(0))
        }
    }

    @Test func aSetIsMadeWhereOneOfThemIsAndNoneIsNot() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            func set(_ condition: String) async throws -> JSONLine {
                try await client.ask(
                    #"{"op":"set","state":"ready","data":{"value":true},"reenter":true,"ifState":\#(condition)}"#
                )
            }
            _ = try await client.ask("set authentication active")
            let refused = try await set(#"["ready","!authentication:phase=active"]"#)
            #expect(refused.error == "conflict")
            #expect(refused.string("message")?.contains("\"!authentication:phase=active\"") == true)
            #expect(try await set(#"["!ready","!authentication"]"#).error == "conflict")
            #expect(try await set(#"["dataRetrieval","authentication"]"#).ok == true)
            #expect(try await set(#"["!ready"]"#).error == "conflict")
            #expect(try await set(#"{"state":"authentication","not":true}"#).ok == true)
        }
    }

    @Test func watchesWaitsHoldsGuardsAndHistoryTakeThem() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            let watch = try daemon.connect(\.control)
            try watch.send(#"{"op":"watch","only":"!authentication"}"#)
            #expect(try await watch.next().state == "ready")
            let wait = try daemon.connect(\.control)
            try wait.send("wait !ready !authentication:idle")
            _ = try await wait.ask("ping")

            #expect(try await client.ask("set authentication idle").seq == 1)
            #expect(try await client.ask("set ready true").seq == 2)
            #expect(try await client.ask("set authentication active").seq == 3)
            #expect(try await client.ask("set dataRetrieval idle").seq == 4)
            #expect(try await watch.next().seq == 2)
            #expect(try await watch.next().seq == 4)
            let reached = try await wait.next()
            #expect(reached.seq == 3 && reached.string("matched") == "!ready")

            let past = try daemon.connect(\.control)
            try past.send(
                #"{"op":"history","only":["authentication","!authentication:phase=idle"]}"#
            )
            #expect(try await past.next().seq == 3)
            #expect(try await past.next().int("count") == 1)

            let holder = try daemon.connect(\.control)
            #expect(try await holder.ask(#"{"op":"hold","before":"!ready"}"#).ok == true)
            #expect(try await client.ask("set authentication idle").error == "denied")
            #expect(try await client.ask("set ready false").ok == true)
            holder.vanish()
            let guardian = try daemon.connect(\.control)
            let before =
                #"{"op":"guard","before":["!ready:value=true","!dataRetrieval"],"timeoutMs":60000}"#
            #expect(try await guardian.ask(before).ok == true)
            #expect(try await client.ask("set ready true").ok == true)
            try client.send("set ready false")
            let asked = try await guardian.next()
            #expect(asked.string("type") == "ask")
            try guardian.send(#"{"op":"vote","ask":\#(asked.int("ask") ?? 0),"allow":false}"#)
            #expect(try await client.next().error == "denied")
        }
    }

    @Test func theToolTakesThem() async throws {
        try await self.run { daemon in
            let refused = try await daemon.statectl(
                "set",
                "ready",
                "true",
                "--unless-state",
                "ready",
                "--unless-state",
                "authentication"
            )
            #expect(refused.status == .exited(1))
            #expect(refused.errors.contains("expected \"!ready\", \"!authentication\""))
            let made = try await daemon.statectl(
                "set",
                "ready",
                "true",
                "--if-state",
                "ready",
                "--if-state",
                "authentication"
            )
            #expect(made.status == .exited(0), "\(made.errors)")
            #expect(try await daemon.statectl("is", "!authentication").status == .exited(0))
            #expect(
                try await daemon.statectl("is", "!ready", "!authentication").status == .exited(1)
            )
            let typo = try await daemon.statectl("is", "!rady")
            #expect(typo.status == .exited(2))
            #expect(typo.errors.contains("did you mean ready?"), "\(typo.errors)")
        }
    }

    /// Every change is matched against them, at the setters' expense.
    @Test(.enabled(if: getuid() == 0, "needs to be another user"))
    func waitsThatTakeStatesAwayAreFewForAUser() async throws {
        try await self.run { daemon in
            try daemon.admitEverybody()
            let list = Array(repeating: #""!authentication""#, count: 31).joined(separator: ",")
            let wait = #"{"op":"wait","until":["!ready",\#(list)],"timeoutMs":500}"#
            let plain = wait.replacing("!", with: "").replacing(#""ready","#, with: "")
            let lines = [plain] + Array(repeating: wait, count: 5)
            let answers = try await runTool(
                .name("setpriv"),
                DaemonProcess.foreign(65_534)
                    + ["socat", "-t", "60", "-", "UNIX-CONNECT:\(daemon.control)"],
                input: lines.joined(separator: "\n") + "\n"
            )
            let replies = try answers.output.split(separator: "\n").map { try JSONLine(String($0)) }
            #expect(replies.map(\.error) == ["limit"] + Array(repeating: "timeout", count: 5))
            #expect(
                replies.first?.string("message")?.contains("exceptingPatternsPerUid allows 128")
                    == true
            )
            // Root has no such limit.
            let root = try daemon.connect(\.control)
            for _ in 1...5 { try root.send(wait) }
            #expect(try await root.ask("ping").seq == 0)
        }
    }
}
