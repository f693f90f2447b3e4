import NIOCore
import Testing

@testable import StateMachineServer

/// When a paced watch may be sent a line, and when it is due a beat.
struct WatchPaceTests {
    private static func time(_ milliseconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(0) + .milliseconds(milliseconds)
    }

    private func pace(every everyMs: UInt64 = 0, beat beatMs: UInt64? = nil) throws -> WatchPace {
        try #require(WatchPace(everyMs: everyMs, beatMs: beatMs, now: Self.time(0)))
    }

    @Test func withoutAnIntervalAndABeatThereIsNone() {
        #expect(WatchPace(everyMs: 0, beatMs: nil, now: Self.time(0)) == nil)
    }

    @Test func theFirstLineGoesAtOnceAndTheNextAfterTheInterval() throws {
        let pace = try self.pace(every: 100)
        #expect(pace.wait(at: Self.time(0)) == nil)
        pace.wrote(at: Self.time(10), holdsBackNext: true)
        #expect(pace.wait(at: Self.time(10)) == .milliseconds(100))
        #expect(pace.wait(at: Self.time(109)) == .milliseconds(1))
        #expect(pace.wait(at: Self.time(110)) == nil)
    }

    @Test func aBeatComesAfterSilenceAndHoldsNothingBack() throws {
        let pace = try self.pace(every: 100, beat: 1000)
        #expect(pace.untilBeat(at: Self.time(400)) == .milliseconds(600))
        #expect(pace.untilBeat(at: Self.time(1000)) == .zero)
        #expect(pace.untilBeat(at: Self.time(5000)) == .zero)
        pace.wrote(at: Self.time(5000), holdsBackNext: false)
        #expect(pace.wait(at: Self.time(5000)) == nil)
        #expect(pace.untilBeat(at: Self.time(5001)) == .milliseconds(999))
    }

    @Test func aLineOfAnyKindPutsTheBeatOff() throws {
        let pace = try self.pace(beat: 1000)
        pace.wrote(at: Self.time(900), holdsBackNext: true)
        #expect(pace.untilBeat(at: Self.time(1000)) == .milliseconds(900))
        // Without an interval the next line may go all the same.
        #expect(pace.wait(at: Self.time(900)) == nil)
    }

    @Test func theLongestTimesDoNotOverflow() throws {
        let pace = try self.pace(every: .max, beat: .max)
        pace.wrote(at: Self.time(0), holdsBackNext: true)
        let years = TimeAmount.bounded(milliseconds: .max)
        #expect(pace.wait(at: Self.time(0)) == years)
        #expect(pace.untilBeat(at: Self.time(0)) == years)
    }
}
