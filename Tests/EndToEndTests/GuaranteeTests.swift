import Foundation
import TestSupport
import Testing

/// Guarantees of the protocol beside those that ``ModelTests`` checks; the numbers are the protocol's.
@Suite(.bounded) struct GuaranteeTests {
    /// Guarantee 2: whatever a client sent before it vanished is decided at once, however much it
    /// is, and still no reader misses any of it.
    @Test func aSetterThatVanishesCostsNoReaderALine() async throws {
        try await DaemonProcess.run("--ring-changes", "64", "--log-level", "error") { daemon in
            let reader = try daemon.connect(\.events)
            #expect(try await reader.next().seq == 0)
            var last = 0
            for _ in 1...20 {
                let setter = try daemon.connect(\.control)
                let sets = (1...500).map { "set ready value=\(($0 + last) % 2 == 1)\n" }
                try setter.send(raw: sets.joined())
                setter.vanish()
                for _ in sets {
                    let line = try await reader.next()
                    #expect(line.type == "change")
                    #expect(line.seq == last + 1)
                    last = try #require(line.seq)
                }
            }
        }
    }

    /// Guarantee 4, for sets that are read together and answered together; with a small ring
    /// everybody is written to in between.
    @Test(arguments: [4096, 16])
    func anAnswerComesAfterAllChangesUpToIt(ringChanges: Int) async throws {
        try await DaemonProcess.run("--ring-changes", "\(ringChanges)", "--log-level", "error") {
            daemon in
            let client = try daemon.connect(\.control)
            #expect(try await client.ask("watch").type == "state")
            let sets = 2000
            let lines = (1...sets).map {
                #"{"op":"set","state":"ready","data":{"value":\#($0 % 2 == 1)}}"# + "\n"
            }
            let sender = Task { try await blocking { try client.send(raw: lines.joined()) } }
            var (shown, answered) = (0, 0)
            while answered < sets {
                let line = try await client.next()
                switch line.type {
                case "change", "state": shown = try #require(line.seq)
                case "reply":
                    answered += 1
                    #expect(line.seq == answered)
                    #expect(shown >= answered)
                default: Issue.record("unexpected line: \(line)")
                }
            }
            try await sender.value
        }
    }
}

extension LineSocket {
    /// Sends a request for each number and reads the replies, with at most `unanswered`
    /// outstanding.
    func pipeline(
        _ numbers: ClosedRange<Int>,
        unanswered: Int = 256,
        _ request: @escaping @Sendable (Int) -> String
    ) async throws {
        try await blocking {
            var open = 0
            for start in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 64) {
                let batch = start...min(start + 63, numbers.upperBound)
                while open + batch.count > unanswered {
                    _ = try self.reply()
                    open -= 1
                }
                try self.send(raw: batch.map { request($0) + "\n" }.joined())
                open += batch.count
            }
            while open > 0 {
                _ = try self.reply()
                open -= 1
            }
        }
    }

    private func reply() throws -> String {
        guard let line = try self.readLine() else { throw TestFailure("the connection ended") }
        guard line.contains(#""ok":true"#) else { throw TestFailure("refused: \(line)") }
        return line
    }
}
