import StateMachineProtocol
import Testing

@testable import StateMachineServer

@Suite struct TransitionCountsTests {
    private func rows(_ counts: TransitionCounts) throws -> [JSONValue] {
        let line = ServerLine.reply(id: nil, own: { counts.write(to: &$0) })
        return try #require(
            JSONValue(parsing: String(decoding: line, as: UTF8.self))?["transitions"]?.elements
        )
    }

    @Test func eachWayIsCountedByItself() throws {
        var counts = TransitionCounts()
        for (from, to) in [
            ("a", "b"), ("b", "a"), ("a", "b"), ("b", "b"), ("e\u{301}", "b"), ("\u{e9}", "b"),
        ] {
            counts.add(from: Encoded(from, [:]), to: Encoded(to, [:]))
        }
        let shown = try self.rows(counts).map { row in
            "\(row["from"]?.string ?? "") \(row["to"]?.string ?? "") \(row["count"]?.integer ?? 0)"
        }
        #expect(
            shown.map { Array($0.utf8) }
                == ["a b 2", "b a 1", "b b 1", "e\u{301} b 1", "\u{e9} b 1"].map { Array($0.utf8) }
        )
    }

    @Test func thereIsALimitOfWaysAndThoseThatAreShownAreCountedOn() throws {
        var counts = TransitionCounts()
        for number in 0..<2000 {
            counts.add(from: Encoded("a", [:]), to: Encoded("s\(number)", [:]))
        }
        counts.add(from: Encoded("a", [:]), to: Encoded("s0", [:]))
        counts.add(from: Encoded("a", [:]), to: Encoded("s1999", [:]))
        let rows = try self.rows(counts)
        #expect(rows.count == 1024)
        #expect(rows.first?["count"]?.integer == 2)
    }
}
