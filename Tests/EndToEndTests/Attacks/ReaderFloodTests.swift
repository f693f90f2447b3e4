import Subprocess
import TestSupport
import Testing

/// Many requests from clients that only read, beside one that sets.
@Suite(.bounded) struct ReaderFloodTests {
    private static let flooders = AttackSize.count(16, full: 64)
    private static let requests = 1000

    struct Load: CustomTestStringConvertible, Sendable {
        let line: String
        let requests: Int

        var testDescription: String { String(self.line.prefix(40)) }
    }

    private static let loads: [Load] = [
        Load(line: "get", requests: Self.requests),
        Load(line: "ping", requests: Self.requests),
        Load(line: "stats", requests: Self.requests / 20),
        Load(
            line: #"{"op":"wait","until":[\#(Self.patterns)],"timeoutMs":0}"#,
            requests: Self.requests / 20
        ),
    ]

    /// As many patterns as are allowed, none of which matches the state.
    private static let patterns = Array(repeating: #""dataRetrieval:phase=failure""#, count: 32)
        .joined(separator: ",")

    /// The setter sends last and is answered first; the others' replies themselves show what had
    /// been answered before the set.
    @Test(arguments: Self.loads)
    func aSetDoesNotWaitForRequestsThatChangeNothing(load: Load) async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("ping").ok == true)
            let flooders = try (0..<Self.flooders).map { _ in try daemon.connect(\.events) }
            for flooder in flooders { #expect(try await flooder.next().seq == 0) }
            try daemon.send(.suspend)
            for flooder in flooders {
                try flooder.send(raw: String(repeating: load.line + "\n", count: load.requests))
            }
            try setter.send("set ready value=true")
            try daemon.send(.resume)
            #expect(try await setter.next().seq == 1)
            var before = 0
            for flooder in flooders {
                var left = load.requests
                while left > 0 {
                    let line = try await flooder.next()
                    guard line.type == "reply" else { continue }
                    left -= 1
                    if line.seq == 0 { before += 1 }
                }
            }
            #expect(before <= Self.flooders * load.requests / 4)
        }
    }

    /// Of what the vanished clients sent, only requests that change something are carried out.
    @Test(arguments: [false, true])
    func whoSendsAndVanishesCostsNobodyAnything(maySet: Bool) async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            let other = try daemon.connect(\.control)
            #expect(try await other.ask("ping").ok == true)
            let comers = try (0..<Self.flooders).map { _ in
                try daemon.connect(maySet ? \.control : \.events)
            }
            // Connections still in a door's queue are not counted.
            while try await other.ask("stats").items("connections")?.count != Self.flooders + 1 {}
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
            // A connection may have been served before the daemon noticed that it was gone.
            let served = try #require(stats.item("counters")?.int("requests"))
            #expect(served <= Self.flooders * Self.requests)
        }
    }

    /// A wait that looks back over the whole history is answered in its turn, with what it finds,
    /// and is searched in pieces; so the last wait sent before a set knows of that set.
    @Test func waitsThatLookBackDoNotKeepASetWaiting() async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            let setter = try daemon.connect(\.control)
            let changes = AttackSize.count(200, full: 4000)
            for change in 1...changes {
                let phase = change.isMultiple(of: 2) ? "active" : "success"
                _ = try await setter.ask("set dataRetrieval phase=\(phase)")
            }
            let flooders = try (0..<Self.flooders).map { _ in try daemon.connect(\.events) }
            var cursor = ""
            for flooder in flooders { cursor = try await flooder.next().string("cursor") ?? "" }
            let epoch = try #require(cursor.split(separator: ":").first)
            try daemon.send(.suspend)
            for flooder in flooders {
                for id in 0..<8 {
                    try flooder.send(
                        #"{"op":"wait","id":\#(id),"since":"\#(epoch):0","until":[\#(Self.patterns)],"timeoutMs":0}"#
                    )
                }
            }
            try setter.send("set ready value=true")
            try daemon.send(.resume)
            #expect(try await setter.next().seq == changes + 1)
            var before = 0
            for flooder in flooders {
                var left = 8
                while left > 0 {
                    let line = try await flooder.next()
                    guard line.type == "reply" else { continue }
                    left -= 1
                    #expect(line.error == "timeout")
                    if line.seq == changes { before += 1 }
                }
            }
            #expect(before <= Self.flooders * 8 / 4)
        }
    }

    /// The daemon is told to end before it is resumed; it does not first work off what it was sent
    /// until then.
    @Test(arguments: ["ping", "stats"])
    func aBacklogDoesNotKeepTheDaemonFromEnding(request: String) async throws {
        try await DaemonProcess.run("--max-connections-per-uid", "200") { daemon in
            let flooders = try (0..<Self.flooders).map { _ in try daemon.connect(\.events) }
            for flooder in flooders { #expect(try await flooder.next().seq == 0) }
            // Far more than are answered before a signal is heard, and as much as a socket takes.
            let requests = 20 * Self.requests
            try daemon.send(.suspend)
            for flooder in flooders {
                try flooder.send(raw: String(repeating: request + "\n", count: requests))
            }
            try daemon.send(.terminate)
            try daemon.send(.resume)
            var answered = 0
            for flooder in flooders {
                let lines = try await flooder.rest()
                #expect(lines.last?.type == "bye")
                answered += lines.count { $0.type == "reply" }
            }
            #expect(answered < Self.flooders * requests)
        }
    }
}
