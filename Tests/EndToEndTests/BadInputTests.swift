import Foundation
import TestSupport
import Testing

/// Bad input gets an answer, and the connection goes on: the sessions show how.
@Suite(.bounded) struct BadInputTests {
    /// Each code is in a session, except `internal`, the daemon's own trouble, which no line can cause
    /// (``HistoryFailureTests``).
    @Test func everyErrorCodeIsShown() async throws {
        let directory = URL(filePath: #filePath).appending(path: "../Fence").standardized
        let sessions = try FileManager.default
            .contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "session" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        let shown = Set(sessions.matches(of: /"ok":false,"error":"([a-z-]+)"/).map { String($0.1) })
        // Only a declared machine has all the codes.
        let declared = "start: on\nevents: {go: {}}\nstates: {on: {when: {go: on}}}\n"
        try await withService(machine: declared) { machine, daemon in
            let described = try await daemon.connect(\.control).ask("describe")
            #expect(Set(try #require(described.strings("errors"))) == shown.union(["internal"]))
            #expect(try await daemon.end() == 0)
        }
    }

    @Test(arguments: [65_537, 200_000])
    func anOverlongLineEndsTheConnectionWithItsReason(length: Int) async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            try client.send("get")
            // The daemon may have closed the connection before it has read everything.
            try? client.send(raw: String(repeating: "x", count: length))
            let lines = [try await client.next(), try await client.next()]
            #expect(lines.map(\.type) == ["reply", "bye"])
            #expect(lines.last?.string("reason") == "too-long")
            // What was not read any more makes the end a reset.
            client.endInput()
            let rest = (try? await client.rest()) ?? []
            #expect(rest.isEmpty)
            let pong = try await daemon.ask(\.control, "ping")
            #expect(pong.ok == true)
        }
    }
}
