import Foundation
import Subprocess
import TestSupport
import Testing

/// More clients than there is room for.
@Suite(.bounded, .serialized)
struct ExhaustionTests {
    @Test
    func withoutDescriptorsConnectionsWaitUntilOthersEnd() async throws {
        try await DaemonProcess.run { daemon in
            let first = try daemon.connect(\.control)
            #expect(try await first.ask("ping").ok == true)
            let open = try await Self.descriptors(of: daemon, asking: first)
            // The daemon keeps 16 descriptors for itself.
            let places = (open.compactMap { Int($0) }.max() ?? 0) + 6
            let limit = places + 16
            let limited = try await runTool(
                .name("prlimit"),
                ["--pid", "\(daemon.pid)", "--nofile=\(limit):\(limit)"]
            )
            #expect(limited.status == .exited(0))
            let room = places - open.count
            let clients = try (0..<room + 5).map { _ in try daemon.connect(\.control) }
            for client in clients { try client.send("ping") }
            for client in clients[..<room] { #expect(try await client.next().ok == true) }
            #expect(try await first.ask("set ready value=true").seq == 1)
            for client in clients[room...] { #expect(try client.linesSoFar()?.isEmpty == true) }
            for client in clients[..<5] { client.vanish() }
            for client in clients[room...] { #expect(try await client.next().ok == true) }
            #expect(try await first.ask("ping").seq == 1)
        }
    }

    /// The descriptors it has open at rest; to send its status to the manager it briefly opens one
    /// more.
    private static func descriptors(
        of daemon: DaemonProcess,
        asking client: LineSocket
    ) async throws -> [String] {
        var (last, open): ([String], [String]) = ([], [])
        repeat {
            last = open
            #expect(try await client.ask("ping").ok == true)
            open = try FileManager.default.contentsOfDirectory(
                atPath: "/proc/\(daemon.pid)/fd"
            ).sorted()
        } while open != last
        return open
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
}
