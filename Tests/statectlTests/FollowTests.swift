import DaemonScripts
import StateMachineClient
import TestSupport
import Testing

@testable import statectl

/// What is heard of a machine that is followed, over several connections.
@Suite(.bounded) struct FollowTests {
    private static func state(_ seq: Int) -> String {
        #"{"type":"state","seq":\#(seq),"state":"a","data":{},"cursor":"e:\#(seq)"}"# + "\n"
    }

    /// The news in words; after line 7 there is another subscription, after the cursor of line 3.
    private func news(of door: ScriptedDoor, count: Int) async throws -> [String] {
        var news: [String] = []
        try await ScriptedDaemon.with(control: door) { daemon in
            let follow = Follow(watch: daemon.client.watch(), count: count)
            try await follow.run { each in
                switch each {
                case .line(let line):
                    news.append("line \(line.seq ?? 0)")
                    return line.seq == 7 ? .again(since: "e:3") : .counted
                case .connected(let isAgain): news.append(isAgain ? "again" : "connected")
                case .gone: news.append("gone")
                case .awaited: news.append("awaited")
                case .reached: news.append("reached")
                }
                return .next
            }
        }
        return news
    }

    @Test func aDaemonThatIsGoneIsToldOfOnceAndThatItIsBackBeforeItsLine() async throws {
        let door = ScriptedDoor(
            [.awaitRequest, .send(Self.state(1)), .close],
            [.close],
            [.awaitRequest, .send(Self.state(2))]
        )
        let news = try await self.news(of: door, count: 2)
        #expect(news == ["line 1", "gone", "again", "line 2"])
    }

    @Test func aDaemonThatIsNotThereToBeginWithIsAwaited() async throws {
        let door = ScriptedDoor([.close], [.close], [.awaitRequest, .send(Self.state(1))])
        let news = try await self.news(of: door, count: 1)
        #expect(news == ["awaited", "connected", "line 1"])
    }

    @Test func anotherSubscriptionBeginsAfterTheCursorThatIsAskedFor() async throws {
        let door = ScriptedDoor(
            [.awaitRequest, .send(Self.state(7))],
            [.awaitRequest, .send(Self.state(8))]
        )
        let news = try await self.news(of: door, count: 1)
        #expect(news == ["line 7", "line 8"])
        #expect(door.requests.map { $0.contains("e:3") } == [false, true])
    }

    @Test func aStayIsReportedOnceAndOnlyIfTheMachineIsStillInIt() async throws {
        func present(_ number: UInt64) throws -> (line: Line, stay: StayTimer.Stay) {
            let stay = StayTimer.Stay(beginning: Cursor("e:\(number)"), due: .now)
            return (try Line.of(Self.state(Int(number))), stay)
        }
        let timer = StayTimer()
        timer.note(try present(1).stay)
        var asked = 0
        let line = try await timer.next {
            asked += 1
            // The second began while the daemon was asked about the first.
            if asked == 1 { timer.note(try present(2).stay) }
            return try present(2)
        }
        #expect(line.seq == 2 && asked == 2)
        timer.note(try present(2).stay)
        timer.note(try present(3).stay)
        let next = try await timer.next {
            asked += 1
            return try present(3)
        }
        #expect(next.seq == 3 && asked == 3)
    }

    /// A numbering may begin again, and then its numbers say nothing of what was reported before.
    @Test func aStayOfAnotherNumberingIsAnotherStayAndThatOfAContinuedOneTheSame() async throws {
        let now = ContinuousClock.now
        func stay(_ cursor: String) -> StayTimer.Stay {
            StayTimer.Stay(beginning: Cursor(cursor), due: now)
        }
        let (line, timer) = (try Line.of(Self.state(1)), StayTimer())
        func report(_ stay: StayTimer.Stay) async throws -> Int {
            timer.note(stay)
            var asked = 0
            _ = try await timer.next {
                asked += 1
                return (line, stay)
            }
            return asked
        }
        #expect(try await report(stay("a:1")) == 1)
        #expect(try await report(stay("b:1")) == 1)
        let epoch = try #require(Cursor("c:0")).epoch
        timer.numberingContinues(as: epoch)
        timer.note(stay("c:1"))
        #expect(timer.pending == nil)
        timer.note(stay("b:1"))
        #expect(timer.pending == stay("b:1"))
        // A stay of a daemon that came meanwhile, and has the number that was noted, is not the one that was noted.
        timer.note(stay("c:3"))
        var found = ["d:3", "c:4"]
        _ = try await timer.next {
            defer { timer.note(stay("c:4")) }
            return (line, stay(found.removeFirst()))
        }
        #expect(found.isEmpty)
    }

    @Test func theFirstEndEndsTheOthers() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let first = try await Race.run(
            {
                for await _ in stream {}
                return Task.isCancelled ? "cancelled" : "ended"
            },
            { "first" }
        )
        #expect(first == "first")
        continuation.finish()
    }
}
