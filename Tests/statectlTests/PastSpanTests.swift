import StateMachineCore
import StateMachineDeclaration
import Testing

@testable import statectl

/// Stays of the past, and what is computed from them.
@Suite struct PastSpanTests {
    private static let second: Int64 = 1_000_000

    /// Stays that begin at these seconds.
    private func span(
        _ stays: [(state: String, at: Int64)],
        from start: Int64,
        to end: Int64,
        hasEarlier: Bool = false,
        origin: String? = nil
    ) -> PastSpan {
        var past = PastStays()
        for (index, stay) in stays.enumerated() {
            past.enter(stay.state, at: stay.at * Self.second, seq: UInt64(index) + 1)
        }
        return PastSpan(
            start: start * Self.second,
            end: end * Self.second,
            stays: past,
            hasEarlier: hasEarlier,
            origin: origin
        )
    }

    @Test func aStayThatBeganBeforeCountsWhole() {
        let rows = self.span(
            [("a", 0), ("b", 40), ("a", 50), ("b", 80)],
            from: 20,
            to: 100,
            hasEarlier: true
        )
        .summaries()
        #expect(rows.map(\.name) == ["a", "b"])
        #expect(rows.map(\.time) == [50 * Self.second, 30 * Self.second])
        #expect(rows.map(\.entered) == [1, 2])
        #expect(rows.map(\.median) == [30 * Self.second, 10 * Self.second])
        #expect(rows.map(\.longest) == [40 * Self.second, 20 * Self.second])
        #expect(rows.map(\.share) == [0.625, 0.375])
    }

    @Test func moreStatesThanAMachineCanHaveEndNothing() {
        var past = PastStays()
        for index in 0..<70_000 {
            // Numbers that go back, and times far apart: a daemon may say anything.
            past.enter(
                "s\(index)",
                at: index.isMultiple(of: 2) ? 1 << 57 : -(1 << 57),
                seq: UInt64(70_000 - index)
            )
        }
        #expect(past.isTooMany && past.names.count == PastStays.mostNames)
        let span = PastSpan(
            start: -(1 << 58),
            end: 1 << 58,
            stays: past,
            hasEarlier: false,
            origin: nil
        )
        #expect(span.summaries().count == PastStays.mostNames)
    }

    @Test func sharesAddUpInEveryColumn() {
        var random = SystemRandomNumberGenerator()
        var at: Int64 = 0
        let stays = (0..<500).map { number in
            at += Int64.random(in: 0...9, using: &random)
            return (state: "s\(number % 7)", at: at)
        }
        let span = self.span(stays, from: 0, to: at + 5)
        let rows = span.shares(columns: 61)
        for column in 0..<61 {
            let sum = rows.reduce(0) { $0 + $1[column] }
            // There is nothing before the first stay.
            #expect(sum < 1.000001 && (column == 0 || sum > 0.999999), "\(column): \(sum)")
        }
        #expect(span.summaries().reduce(0) { $0 + $1.entered } == 500)
    }

    @Test func aClockThatWasSetBackDoesNoHarm() {
        let span = self.span([("a", 100), ("b", 50), ("a", 120)], from: 50, to: 130)
        let rows = span.summaries()
        #expect(rows.map(\.longest) == [10 * Self.second, 70 * Self.second])
        #expect(span.shares(columns: 10).allSatisfy { $0.allSatisfy { $0 <= 2 } })
        #expect(PictureMarks(span, columns: 10).stays == [0, 1, 2])
    }

    @Test func waysAreCounted() {
        let ways = self.span(
            [("a", 0), ("b", 10), ("a", 12), ("b", 42), ("b", 50)],
            from: 0,
            to: 60,
            origin: "a"
        )
        .ways()
        #expect(ways.count == 4)
        // The first change led to `a` after a stay of unknown length.
        #expect(ways[DrawingWay(from: "a", to: "a")]?.count == 1)
        #expect(ways[DrawingWay(from: "a", to: "a")]?.median == nil)
        #expect(ways[DrawingWay(from: "a", to: "b")]?.count == 2)
        #expect(ways[DrawingWay(from: "a", to: "b")]?.median == "10 s")
        #expect(ways[DrawingWay(from: "b", to: "a")]?.median == "2.0 s")
        #expect(ways[DrawingWay(from: "b", to: "b")]?.count == 1)
    }

    @Test func whatIsTooNarrowIsACrowd() {
        let stays = (0..<100).map { (state: $0 % 2 == 0 ? "a" : "b", at: Int64($0)) }
        let marks = PictureMarks(self.span(stays + [("c", 100)], from: 0, to: 1000), columns: 100)
        // A column is 10 seconds.
        #expect(marks.stays == [100])
        #expect(
            marks.crowds == [
                [.init(columns: 0..<10, eighths: 4, stays: 50)],
                [.init(columns: 0..<10, eighths: 4, stays: 50)], [],
            ]
        )
    }

    @Test(arguments: [
        (0, 3600, 7, ["01-01", "00:10", "00:20", "00:30", "00:40", "00:50", "01:00"]),
        (86_340, 90_000, 3, ["01-02", "00:30", "01:00"]),
        (0, 10, 3, ["01-01", "00:00:05", "00:00:10"]),
        (0, 40 * 86_400, 4, ["01-01", "01-15", "01-29"]),
        (5, 5, 9, []),
    ])
    func theClockIsMarkedAtRoundTimes(start: Int64, end: Int64, most: Int, labels: [String]) {
        let axis = TimeAxis(start: start * Self.second, end: end * Self.second, isUTC: true)
        let marks = axis.marks(atMost: most)
        #expect(marks.map(\.label) == labels)
        #expect(marks.allSatisfy { $0.time >= axis.start && $0.time <= axis.end })
    }

    @Test func spansAreShownInTheUnitThatTellsMost() {
        let texts = [0, 999, 1000, 999_999, 4_250_000, 59_000_000, 7_200_000_000].map {
            SpanText.text($0)
        }
        #expect(texts == ["0 µs", "999 µs", "1 ms", "999 ms", "4.2 s", "59 s", "2 h"])
        #expect(
            [0, 0.0001, 0.5, 0.99999, 1].map { SpanText.percent($0) }
                == ["0.0 %", "<0.1 %", "50.0 %", ">99.9 %", "100.0 %"]
        )
    }

    @Test func whatIsHostileIsText() {
        let text = "<script>&\"'\u{1B}[2J\u{202E}\u{FFFF}" + String(repeating: "x", count: 60_000)
        let shown = text.markup()
        #expect(shown.hasPrefix("&lt;script&gt;&amp;&quot;&#39;\\u{1b}[2J\\u{202e}\u{FFFD}xxx"))
        #expect(shown.unicodeScalars.count < 500 && shown.hasSuffix("x…"))
    }
}
