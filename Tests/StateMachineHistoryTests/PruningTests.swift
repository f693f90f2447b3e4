import Foundation
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineHistory

/// Removing rows that need not be kept, when it fails or when nobody commits.
@Suite(.bounded) struct PruningTests {
    @Test func failingToRemoveIsToldOnceAndSoIsItsEnd() async throws {
        try await withHistory(HistoryOptions(keepChanges: 2)) { history, path in
            let told = Recorder<String>()
            history.history.onTrouble { work, why in
                #expect(work == .pruning)
                told.record(why ?? "well")
            }
            let machine = history.makeMachine()
            try await machine.assign(.ready(true))
            try other(
                path,
                """
                CREATE TRIGGER refusal BEFORE DELETE ON change
                BEGIN SELECT RAISE(ABORT, 'it stays'); END
                """
            )
            try await machine.change(5)
            // Twice, because a step is queued by the one before it.
            for _ in 1...2 { #expect(await history.settled() == nil) }
            #expect(told.heard.count == 1)
            let sentence = "\(path)/statemachine.sqlite: it stays"
            #expect(told.heard.first?.contains(sentence) == true)
            #expect(history.history.oldest == 1)
            try other(path, "DROP TRIGGER refusal")
            try await machine.assign(.ready(true))
            while history.history.oldest < 6 { #expect(await history.settled() == nil) }
            #expect(told.heard.count == 2)
            #expect(told.heard.last == "well")
        }
    }

    @Test func whatGrowsOldWhileNobodyCommitsIsRemoved() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/a"
            let history = try History(
                directory: path,
                options: HistoryOptions(),
                boot: nil,
                day: 0.01
            )
            let machine = history.makeMachine()
            try await machine.change(9)
            #expect(await history.settled() == nil)
            #expect(history.history.oldest == 1)
            try other(path, "UPDATE change SET at = 0 WHERE seq < 6")
            while history.history.oldest < 6 { #expect(await history.settled() == nil) }
            #expect(try await history.all(after: 0).map(\.seq) == [6, 7, 8, 9])
        }
    }

    private enum Note: EnumState {
        case text(String)

        static let initial = Note.text("")
        static var examples: [Note] { [.text("")] }
    }

    /// 600 changes of 40 KB are 24 MB, of which 4 MB, and up to 4 that came since it was looked at, are kept.
    @Test func ofADatabaseThatIsTooLargeTheOldestRowsAreRemoved() async throws {
        try await withTemporaryDirectory { directory in
            let limit = 4 << 20
            let history = try SQLiteHistory<Note>(
                directory: "\(directory)/a",
                options: HistoryOptions(keepBytes: limit)
            )
            let machine = history.makeMachine()
            for count in 1...600 {
                try await machine.assign(.text("\(count)" + String(repeating: "x", count: 40_000)))
            }
            #expect(await history.settled() == nil)
            // Twice, because a step is queued by the one before it.
            for _ in 1...20 { #expect(await history.settled() == nil) }
            let kept = try await history.all(after: 0).map(\.seq)
            #expect(kept == Array(history.history.oldest...600))
            #expect((90...210).contains(kept.count), "\(kept.count) are kept")
            let path = "\(directory)/a/statemachine.sqlite"
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            // It grows between two looks at its size.
            #expect(try #require(size) < 3 * limit)
        }
    }

    /// A start with a clock that is weeks ahead, as it may be before the network has set it.
    @Test func aClockThatIsFarAheadTakesNothingAway() async throws {
        try await withLeftovers(of: 9) { path, _ in
            // All of it was made forty days before the clock's present time.
            try other(path, "UPDATE change SET at = at - 40 * 86400 * 1000000")
            let history = try History(directory: path, options: HistoryOptions())
            let machine = history.makeMachine()
            try await machine.change(4)
            for _ in 1...3 { #expect(await history.settled() == nil) }
            #expect(try await history.all(after: 0).count == 13)
        }
    }

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
