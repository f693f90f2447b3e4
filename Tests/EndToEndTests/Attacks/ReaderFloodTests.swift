import Subprocess
import TestSupport
import Testing

/// Many requests of those who only read, beside somebody who sets.
@Suite(.timeLimit(.minutes(5)))
struct ReaderFloodTests {
    private static let flooders = AttackSize.count(16, full: 64)
    private static let requests = 1000

    /// Who sets was last to send, and is first to be answered: what the others were answered by then,
    /// their replies say themselves.
    @Test
    func aSetDoesNotWaitForRequestsThatChangeNothing() async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("ping").ok == true)
            let flooders = try (0..<Self.flooders).map { _ in try daemon.connect(\.events) }
            for flooder in flooders { #expect(try await flooder.next().seq == 0) }
            try daemon.send(.suspend)
            for flooder in flooders {
                try flooder.send(raw: String(repeating: "get\n", count: Self.requests))
            }
            try setter.send("set ready value=true")
            try daemon.send(.resume)
            #expect(try await setter.next().seq == 1)
            var before = 0
            for flooder in flooders {
                var left = Self.requests
                while left > 0 {
                    let line = try await flooder.next()
                    guard line.type == "reply" else { continue }
                    left -= 1
                    if line.seq == 0 { before += 1 }
                }
            }
            #expect(before <= Self.flooders * Self.requests / 4)
        }
    }

    /// Of what they sent only that is carried out which changes something.
    @Test(arguments: [false, true])
    func whoSendsAndVanishesCostsNobodyAnything(maySet: Bool) async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            let other = try daemon.connect(\.control)
            #expect(try await other.ask("ping").ok == true)
            let comers = try (0..<Self.flooders).map { _ in
                try daemon.connect(maySet ? \.control : \.events)
            }
            try daemon.send(.suspend)
            for comer in comers {
                let lines = String(repeating: "stats\n", count: 5 * Self.requests)
                try comer.send(raw: lines + "set ready value=true\n")
                comer.vanish()
            }
            try daemon.send(.resume)
            var stats = try await other.ask("stats")
            while stats.items("connections")?.count != 1 { stats = try await other.ask("stats") }
            #expect(stats.seq == (maySet ? 1 : 0))
            // A connection may have been served before it was seen to be gone.
            let served = try #require(stats.item("counters")?.int("requests"))
            #expect(served <= Self.flooders * Self.requests)
        }
    }
}
