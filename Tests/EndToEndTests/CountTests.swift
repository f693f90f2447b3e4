import TestSupport
import Testing

/// How much the daemon does for a number of events, by its own count of writes, which no other load
/// on the machine changes.
@Suite struct CountTests {
    private static let readers = 20

    private func writes(_ setter: LineSocket) async throws -> Int {
        let stats = try await setter.ask("stats")
        return try #require(stats.item("counters")?.int("writes"))
    }

    private static func set(_ number: Int) -> String {
        let phase = number.isMultiple(of: 2) ? "idle" : "active"
        return #"{"op":"set","state":"authentication","data":{"phase":"\#(phase)"}}"#
    }

    /// How much is written while `body` is done, beside readers that have read all before.
    private func writes(
        _ body: @escaping @Sendable (LineSocket, _ readers: [LineSocket]) async throws -> Void
    ) async throws -> Int {
        let count = Recorder<Int>()
        try await DaemonProcess.run { daemon in
            let readers = try (0..<Self.readers).map { _ in try daemon.connect(\.events) }
            for reader in readers { _ = try await reader.next() }
            let setter = try daemon.connect(\.control)
            let before = try await self.writes(setter)
            try await body(setter, readers)
            count.record(try await self.writes(setter) - before)
        }
        return count.heard[0]
    }

    @Test(.bounded) func aChangeCostsEveryReaderOneWriteAndItsSetterOne() async throws {
        let count = try await self.writes { setter, readers in
            for number in 1...50 {
                _ = try await setter.ask(Self.set(number))
                for reader in readers { _ = try await reader.next() }
            }
        }
        // Includes the first answer to `stats`, which does not count itself.
        #expect(count == 50 * (Self.readers + 1) + 1)
    }

    @Test(.bounded) func aBurstCostsEveryReaderAFewWrites() async throws {
        let count = try await self.writes { setter, readers in
            // One packet, so that the daemon finds all of it or nothing.
            try setter.send(raw: (1...200).map { Self.set($0) + "\n" }.joined())
            for number in 1...200 {
                #expect(try await setter.next().int("seq") == number)
                for reader in readers { #expect(try await reader.next().int("seq") == number) }
            }
        }
        // At most one for each read that 12 KB takes while the buffer grows from 2 KB, and one
        // for every 16 KiB of answers. Line by line it would be four thousand.
        #expect(count <= 5 * Self.readers + 5 + 3)
    }

    @Test(.bounded) func aBurstIsAnsweredInAFewWrites() async throws {
        try await DaemonProcess.run { daemon in
            let setter = try daemon.connect(\.control)
            let before = try await self.writes(setter)
            try setter.send(raw: (1...500).map { Self.set($0) + "\n" }.joined())
            for number in 1...500 { #expect(try await setter.next().int("seq") == number) }
            // One for every 16 KiB of answers, some 80 KiB in all, and one for each read of the 37
            // KB of requests. One for every 32 answers would be 16, plus the reads.
            let count = try await self.writes(setter) - before
            #expect(count <= 15)
        }
    }
}
