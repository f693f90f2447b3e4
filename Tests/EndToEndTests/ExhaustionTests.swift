import Foundation
import Subprocess
import TestSupport
import Testing

/// More clients than there is room for.
@Suite(.bounded, .serialized) struct ExhaustionTests {
    @Test func withoutDescriptorsConnectionsWaitUntilOthersEnd() async throws {
        try await DaemonProcess.run { daemon in
            let first = try daemon.connect(\.control)
            #expect(try await first.ask("ping").ok == true)
            // The daemon keeps 16 descriptors for itself.
            let places = (try Self.descriptors(of: daemon).max() ?? 0) + 6
            let limit = places + 16
            let limited = try await runTool(
                .name("prlimit"),
                ["--pid", "\(daemon.pid)", "--nofile=\(limit):\(limit)"]
            )
            #expect(limited.status == .exited(0))
            // Looked at for each: its libraries open some late.
            var clients: [LineSocket] = []
            while try !Self.descriptors(of: daemon).isSuperset(of: 0..<places) {
                clients.append(try daemon.connect(\.control))
                #expect(try await clients[clients.count - 1].ask("ping").ok == true)
            }
            #expect(!clients.isEmpty)
            let waiting = try (0..<5).map { _ in try daemon.connect(\.control) }
            for client in waiting { try client.send("ping") }
            #expect(try await first.ask("set ready value=true").seq == 1)
            for client in waiting { #expect(try client.linesSoFar()?.isEmpty == true) }
            for client in clients { client.vanish() }
            for client in waiting { #expect(try await client.next().ok == true) }
            #expect(try await first.ask("ping").seq == 1)
        }
    }

    private static func descriptors(of daemon: DaemonProcess) throws -> Set<Int> {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd")
        return Set(names.compactMap { Int($0) })
    }

    @Test(.enabled(if: geteuid() == 0, "needs a second user"))
    func oneUserHasSixtyFourConnectionsAndRootStillGetsIn() async throws {
        try await DaemonProcess.run { daemon in
            try daemon.admitEverybody()
            let places = 64
            let crowd = try await Crowd.run(places, as: 65_534, at: daemon.control) {
                let bye = try await daemon.askAsForeigner("ping")
                #expect(bye.type == "bye")
                #expect(bye.string("reason") == "limit")
                #expect(bye.string("limit") == "connectionsPerUid")
                #expect(bye.int("max") == places)
                #expect(bye.has("retryMs"))
                #expect(try await daemon.ask(\.control, "ping").ok == true)
            }
            #expect(crowd == places)
            #expect(try await daemon.askAsForeigner("ping").ok == true)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs a second user"))
    func aUserWhoComesTooFastWaitsAndIsNotRefused() async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            try daemon.admitEverybody()
            let comers = 120
            let answered = try await Crowd.run(comers, as: 65_534, at: daemon.control) {
                let pong = try await daemon.ask(\.control, "ping")
                #expect(pong.ok == true)
            }
            #expect(answered == comers)
            let stats = try await daemon.ask(\.control, "stats")
            #expect(stats.item("counters")?.int("turnedAway") == 0)
            #expect(stats.item("counters")?.int("accepted") == comers + 2)
        }
    }

    /// Every change is matched against them, at the setters' expense.
    @Test(.enabled(if: geteuid() == 0, "needs a second user"))
    func waitsThatTakeStatesAwayAreFewForAUser() async throws {
        try await DaemonProcess.run { daemon in
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
