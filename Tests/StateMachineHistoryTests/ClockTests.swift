import StateMachineCore
import Testing

@testable import StateMachineHistory

/// When the clock is trusted for deciding which rows are too old.
struct ClockTests {
    private static func day(_ days: Double) -> WallTime {
        WallTime(microseconds: Int64((1000 + days) * 86_400_000_000))
    }

    /// Whether rows are removed for their age at that time.
    private static func isBelieved(_ days: Double, by pruning: inout Pruning) -> Bool {
        pruning.look()
        let time = self.day(days)
        return pruning.next(oldest: 1, newest: 100, size: 0, now: time) { $1.upperBound } == 100
    }

    private static func believed(_ days: [Double], by pruning: inout Pruning) -> [Bool] {
        days.map { self.isBelieved($0, by: &pruning) }
    }

    private var pruning = Pruning(HistoryOptions(), newest: Self.day(0))

    @Test mutating func aPauseOfAWeekIsBelieved() {
        let found = Self.believed([0, 7, 14, 14.5, 21], by: &self.pruning)
        #expect(found == [true, true, true, true, true])
    }

    @Test mutating func aLongerOneIsBelievedADayLater() {
        let found = Self.believed([40, 40.1, 40.9, 41, 42, 49, 90], by: &self.pruning)
        #expect(found == [false, false, false, true, true, true, false])
    }

    /// It is trusted one day after it went wrong again, not one day after it first went wrong.
    @Test mutating func aClockThatIsSetRightIsBelievedAtOnceAndDoubtedAgain() {
        let found = Self.believed([40, 0.1, 41, 42, 1], by: &self.pruning)
        #expect(found == [false, true, false, true, true])
    }
}
