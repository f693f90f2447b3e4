import StateMachineClient
import StateMachineProtocol
import Testing

@testable import StateMachineWeb

/// What readers of a feed get, wherever they are.
struct FeedTests {
    private static func line(_ type: String, _ seq: Int, epoch: String = "aaaaaaaa") throws -> Line
    {
        let text =
            #"{"type":"\#(type)","seq":\#(seq),"state":"s\#(seq)","data":{},"cursor":"\#(epoch):\#(seq)"}"#
        return try #require(Line(Array(text.utf8)))
    }

    /// A feed that has sent the state 1 and the changes after it.
    private func feed(upTo last: Int) throws -> Feed {
        let feed = Feed()
        feed.take(try Self.line("state", 1))
        for seq in 1..<last { feed.take(try Self.line("change", seq + 1)) }
        return feed
    }

    private func position(_ start: FeedStart) throws -> (FeedPosition, String) {
        guard case .at(let position, let events) = start else { throw Unexpected() }
        return (position, self.text(events))
    }

    private func text(_ events: [ServerEvent]) -> String {
        String(decoding: events.flatMap(\.bytes), as: UTF8.self)
    }

    private struct Unexpected: Error {}

    @Test func aNewReaderIsToldTheStateAndWhatFollows() throws {
        let feed = try self.feed(upTo: 3)
        var (position, first) = try self.position(feed.start(after: nil))
        #expect(first.hasPrefix("id: aaaaaaaa:3\nevent: state\ndata: {"))
        #expect(!first.contains("resync"))
        #expect(feed.read(&position).isEmpty)
        feed.take(try Self.line("change", 4))
        let next = self.text(feed.read(&position))
        #expect(next.hasPrefix("id: aaaaaaaa:4\nevent: change\n"))
        #expect(feed.read(&position).isEmpty)
    }

    @Test func whetherAllHostsHaveItIsToldInItsPlace() throws {
        let feed = try self.feed(upTo: 2)
        var (position, _) = try self.position(feed.start(after: nil))
        let text =
            #"{"type":"shared","up":false,"reason":"engine","seq":2,"state":"s2","data":{},"cursor":"aaaaaaaa:2"}"#
        feed.take(try #require(Line(Array(text.utf8))))
        feed.take(try Self.line("change", 3))
        let told = self.text(feed.read(&position))
        #expect(told.hasPrefix("event: shared\ndata: \(text)\n\nid: aaaaaaaa:3\nevent: change\n"))
    }

    @Test(arguments: 1...5) func aReaderThatComesAgainMissesNothing(_ seen: Int) throws {
        let feed = try self.feed(upTo: 5)
        var (position, first) = try self.position(feed.start(after: "aaaaaaaa:\(seen)"))
        #expect(first.isEmpty)
        var told = ""
        while true {
            let events = feed.read(&position)
            guard !events.isEmpty else { break }
            told += self.text(events)
        }
        let ids = told.split(separator: "\n").filter { $0.hasPrefix("id: ") }
        #expect(ids == (seen + 1..<6).map { "id: aaaaaaaa:\($0)" })
    }

    @Test func whatIsNoLongerHereIsLookedForAtTheDaemon() throws {
        let feed = try self.feed(upTo: 5000)
        guard case .before(let cursor, let head) = feed.start(after: "aaaaaaaa:7") else {
            throw Unexpected()
        }
        #expect(cursor.seq == 7)
        #expect(head == 5000)
    }

    @Test(arguments: [
        ("bbbbbbbb:3", "restarted"), ("aaaaaaaa:6", "unknown"), ("nonsense", "unknown"),
    ])
    func aPlaceThatIsNotHereIsToldWhy(_ id: String, _ reason: String) throws {
        let (_, first) = try self.position(try self.feed(upTo: 5).start(after: id))
        #expect(first.contains(#""resync":"\#(reason)""#))
        #expect(first.hasPrefix("id: aaaaaaaa:5\nevent: state\n"))
    }

    @Test func aReaderThatStandsStillIsToldWhatItMissedInOneEvent() throws {
        let feed = try self.feed(upTo: 2)
        var (position, _) = try self.position(feed.start(after: nil))
        for seq in 3...6000 { feed.take(try Self.line("change", seq)) }
        let told = self.text(feed.read(&position))
        #expect(told.contains(#""resync":"lagged","missed":5998"#))
        #expect(told.split(separator: "\n").count { $0.hasPrefix("event: ") } == 1)
        #expect(feed.read(&position).isEmpty)
    }

    @Test func aDaemonThatGoesAndComesBackIsToldOnce() throws {
        let feed = try self.feed(upTo: 2)
        var (position, _) = try self.position(feed.start(after: nil))
        feed.lost("it is away")
        feed.lost("it is still away")
        #expect(!feed.isPresent)
        let (_, first) = try self.position(feed.start(after: nil))
        #expect(first.contains("event: state\n"))
        #expect(first.contains("event: gone\ndata: {\"message\":\"it is away\"}\n"))
        feed.take(try Self.line("change", 3))
        let told = self.text(feed.read(&position))
        let events = told.split(separator: "\n").filter { $0.hasPrefix("event: ") }
        #expect(events == ["event: gone", "event: back", "event: change"])
        #expect(feed.isPresent)
    }

    /// Absences of so many seconds; of a daemon that said that it ends if the number is negative.
    private func ended(_ absences: [Int?], making room: Int = 0) -> [Int] {
        let now = ContinuousClock.now
        return Absence.ended(
            absences.map { seconds in
                seconds.map {
                    Absence(since: now - .seconds($0.magnitude), hasFarewell: $0 < 0)
                }
            },
            making: room,
            at: now
        ).sorted()
    }

    @Test func whatHasEndedIsShownForAMinuteAndWhatIsMissedForAnHour() {
        #expect(self.ended([nil, 59, -59, -60, 3599, 3600, nil, -4000]) == [3, 5, 7])
    }

    @Test func whereRoomIsNeededThoseThatHaveBeenAwayForLongestGo() {
        #expect(self.ended([nil, 5, -7, 9], making: 2) == [2, 3])
        #expect(self.ended([nil, 5], making: 3) == [1])
        #expect(self.ended([nil, 5], making: -3).isEmpty)
    }

    @Test func aDaemonThatIsBackIsNotAbsent() throws {
        let feed = try self.feed(upTo: 2)
        #expect(feed.absence == nil)
        feed.lost("it ends", hasFarewell: true)
        feed.lost("it is away")
        #expect(feed.absence?.hasFarewell == true)
        feed.take(try Self.line("change", 3))
        #expect(feed.absence == nil)
    }

    @Test func aReaderThatIsCancelledWaitsNoLonger() async throws {
        let feed = try self.feed(upTo: 2)
        let task = Task { for await _ in feed.bell.news { throw Unexpected() } }
        task.cancel()
        try await task.value
    }
}
