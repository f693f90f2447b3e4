import TestSupport
import Testing

@testable import StateMachineCore

/// From when a stay counts, whatever happens to the clocks.
struct StayStartTests {
    private func moment(_ uptime: Int64, _ wall: Int64) -> StayMoment {
        StayMoment(uptime: uptime * 1_000_000, wall: WallTime(microseconds: wall * 1_000_000))
    }

    private func seconds(_ start: StayStart, at now: StayMoment) -> Int64 {
        start.elapsed(at: now) / 1_000_000
    }

    @Test func withinAStartOfTheMachineTheUptimeDecides() {
        let start = StayStart(stay: 3, moment: self.moment(10, 1000))
        #expect(self.seconds(start, at: self.moment(25, 5000)) == 15)
        #expect(start.wall(after: .seconds(60)) == WallTime(microseconds: 1_060_000_000))
        // The wall clock was set: the uptime stays, and the new wall time is kept for another
        // start.
        let adjusted = start.adjusted(to: self.moment(25, 5000))
        #expect(adjusted.moment == self.moment(10, 4985))
        #expect(adjusted.origin == nil)
        #expect(start.adjusted(to: self.moment(25, 1015)) == start)
    }

    @Test func afterAnotherStartTheWallsClockDecidesOnce() {
        let start = StayStart(stay: 3, moment: self.moment(10, 1000))
        let carried = start.carried(to: self.moment(2, 1100))
        #expect(carried.moment == self.moment(-98, 1000))
        #expect(self.seconds(carried, at: self.moment(12, 9999)) == 110)
        // A clock that is set back takes nothing away; one that is set forward is believed.
        let back = carried.adjusted(to: self.moment(12, 1050))
        #expect(self.seconds(back, at: self.moment(12, 1050)) == 110)
        let forward = back.adjusted(to: self.moment(12, 1500))
        #expect(self.seconds(forward, at: self.moment(12, 1500)) == 500)
    }

    @Test func aClockThatHasLostTheTimeCountsFromNothing() {
        let start = StayStart(stay: 3, moment: self.moment(10, 1000))
        let first = start.carried(to: self.moment(2, 0))
        #expect(self.seconds(first, at: self.moment(2, 0)) == 0)
        // It counts on from there at the next start, unless the clock has lost the time again.
        let second = first.carried(to: self.moment(3, 40))
        #expect(self.seconds(second, at: self.moment(3, 40)) == 40)
        #expect(second.origin == start.moment.wall)
        let right = second.adjusted(to: self.moment(4, 1300))
        #expect(self.seconds(right, at: self.moment(4, 1300)) == 300)
    }

    @Test func eachChangeShowsTheStartThatHeldForIt() {
        let clock = ManualStayClock()
        let began = StayStart(stay: 0, moment: clock.moment)
        let starts = StayStarts(began, clock: clock)
        clock.pass(.seconds(1))
        let first = starts.start(of: 5, at: 5, .now)
        clock.pass(.seconds(1))
        starts.renewal(of: 5).enter(after: 6)
        clock.pass(.seconds(1))
        starts.renewal(of: 5).enter(after: 6)
        let renewed = starts.newest(of: 5)
        #expect(renewed?.moment == clock.moment)
        #expect(starts.start(of: 5, at: 6, .now) == first)
        #expect(starts.start(of: 5, at: 7, .now) == renewed)
        #expect(starts.newest(of: 0) == began)
        // What was recorded for after change 5 is dropped.
        starts.drop(after: 5)
        #expect(starts.newest(of: 5) == first)
        starts.drop(after: 4)
        #expect(starts.newest(of: 5) == nil)
    }

    /// Of an own change that did not happen nothing is left for the one that others make of that number.
    @Test func whatDidNotHappenHasNoStart() {
        let clock = ManualStayClock()
        let starts = StayStarts(StayStart(stay: 0, moment: clock.moment), clock: clock)
        clock.pass(.seconds(1))
        let foreseen = starts.foreseenStart(of: 1, at: 1, .now)
        #expect(foreseen.moment == clock.moment)
        #expect(starts.newest(of: 1) == nil)
        _ = starts.renewal(of: 1)
        #expect(starts.renewed(1, as: 1) != nil)
        starts.drop(after: 0)
        #expect(starts.renewed(1, as: 1) == nil)
        clock.pass(.seconds(1))
        let others = StayStart(stay: 1, moment: self.moment(7, 1000))
        starts.correct(others)
        #expect(starts.start(of: 1, at: 1, .now) == others)
    }

    @Test func whatIsCorrectedHoldsFromTheNextChangeOn() {
        let clock = ManualStayClock()
        let starts = StayStarts(StayStart(stay: 0, moment: clock.moment), clock: clock)
        let first = starts.start(of: 1, at: 1, .now)
        _ = starts.start(of: 1, at: 2, .now)
        let corrected = StayStart(stay: 1, moment: self.moment(1, 1))
        starts.correct(corrected)
        #expect(starts.start(of: 1, at: 2, .now) == first)
        #expect(starts.start(of: 1, at: 3, .now) == corrected)
        #expect(starts.newest(of: 1) == corrected)
    }

    @Test func othersSayFromWhenOnTheirStaysCount() {
        let clock = ManualStayClock()
        let starts = StayStarts(StayStart(stay: 0, moment: clock.moment), clock: clock)
        let (first, second) = (
            StayStart(stay: 1, moment: StayMoment(WallTime(microseconds: 50))),
            StayStart(stay: 1, moment: StayMoment(WallTime(microseconds: 90)))
        )
        starts.adopt(first, from: 1)
        starts.adopt(first, from: 2)
        // Without a change: behind the second, and before the third.
        starts.adopt(second, from: 3)
        #expect(starts.start(of: 1, at: 1, .now) == first)
        #expect(starts.start(of: 1, at: 2, .now) == first)
        #expect(starts.newest(of: 1) == second)
        // An own one that is not committed leaves it as it is.
        _ = starts.start(of: 3, at: 3, .now)
        starts.drop(after: 2)
        #expect(starts.newest(of: 3) == nil)
        #expect(starts.newest(of: 1) == second)
        // The numbers begin again: nothing from before counts.
        let restored = StayStart(stay: 1, moment: StayMoment(WallTime(microseconds: 20)))
        starts.arrive(restored, at: 1)
        #expect(starts.newest(of: 1) == restored)
        #expect(starts.start(of: 1, at: 3, .now) == restored)
    }

    @Test func whatBeginsAnewByAClockThatIsBehindDoesNotBeginBefore() {
        let clock = ManualStayClock()
        let starts = StayStarts(
            StayStart(stay: 0, moment: StayMoment(clock.moment.wall)),
            clock: WallStayClock(clock)
        )
        let ahead = StayStart(
            stay: 1,
            moment: StayMoment(WallTime(microseconds: clock.moment.wall.microseconds + 60_000_000))
        )
        starts.adopt(ahead, from: 1)
        #expect(starts.renewal(of: 1).start.moment == ahead.moment)
        clock.pass(.seconds(90))
        #expect(starts.renewal(of: 1).start.moment == StayMoment(clock.moment.wall))
    }

    @Test func theOldestStartsAreForgotten() {
        let clock = ManualStayClock()
        let starts = StayStarts(StayStart(stay: 0, moment: clock.moment), clock: clock)
        for seq in 1...20_000 as ClosedRange<UInt64> { _ = starts.start(of: seq, at: seq, .now) }
        #expect(starts.newest(of: 1) == nil)
        #expect(starts.newest(of: 19_000) != nil)
    }
}
