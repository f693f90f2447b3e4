import StateMachineCore
import Testing

/// When a machine makes the move that is due.
struct StayWatchTests {
    /// One that waits for what is due at 5 s.
    private var watch: StayWatch {
        var watch = StayWatch()
        watch.expect([Self.deadline()])
        return watch
    }

    private static func deadline(
        _ key: String = "3s",
        renewals: UInt32 = 0,
        due: Int64 = 5_000_000
    ) -> StayWatch.Deadline {
        StayWatch.Deadline(stay: 1, renewals: renewals, key: key, start: 2_000_000, due: due)
    }

    @Test func itIsTriedWhenItsTimeHasComeAndOnce() {
        var watch = self.watch
        #expect(watch.next == 5_000_000)
        let early = watch.rang(at: 4_999_999)
        let attempt = watch.rang(at: 5_000_000)
        let again = watch.rang(at: 6_000_000)
        #expect(early == nil && attempt?.deadline == Self.deadline() && again == nil)
        #expect(watch.next == nil && watch.overdue == nil)
    }

    @Test func whatWasTriedInVainIsTriedAgainAfterPausesThatGrow() throws {
        var watch = self.watch
        var now: Int64 = 5_000_000
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            let rung = watch.rang(at: now)
            let attempt = try #require(rung)
            let isAwaited = watch.failed(attempt, at: now)
            #expect(isAwaited && watch.overdue?.due == 5_000_000)
            #expect(watch.next == now + pause * 1_000_000)
            now += pause * 1_000_000
        }
    }

    @Test func whoeverGoesHasItTriedAtOnceWithShortPausesAgain() throws {
        var watch = self.watch
        for now in [5_000_000, 6_000_000, 8_000_000] as [Int64] {
            let rung = watch.rang(at: now)
            let attempt = try #require(rung)
            _ = watch.failed(attempt, at: now)
        }
        let isOverdue = watch.hurry(at: 9_000_000, anew: true)
        #expect(isOverdue && watch.next == 9_000_000)
        let last = watch.rang(at: 9_000_000)
        let attempt = try #require(last)
        _ = watch.failed(attempt, at: 9_000_000)
        #expect(watch.next == 10_000_000)
    }

    @Test func whatIsNotOverdueIsNotHurried() {
        var watch = self.watch
        let isOverdue = watch.hurry(at: 4_000_000, anew: true)
        #expect(!isOverdue && watch.next == 5_000_000)
    }

    @Test func whatIsWithheldWaitsForAnEventAndForNoTime() throws {
        var watch = self.watch
        let rung = watch.rang(at: 5_000_000)
        let attempt = try #require(rung)
        watch.withheld(attempt)
        #expect(watch.next == nil && watch.overdue?.due == 5_000_000)
        let late = watch.rang(at: .max)
        #expect(late == nil)
        let isOverdue = watch.hurry(at: 9_000_000, anew: false)
        let again = watch.rang(at: 9_000_000)
        #expect(isOverdue && again != nil)
    }

    /// Its answer comes when something else is waited for.
    @Test func anAttemptAtWhatIsNoLongerDueDoesNotCount() throws {
        var watch = self.watch
        let rung = watch.rang(at: 5_000_000)
        let attempt = try #require(rung)
        watch.expect([Self.deadline(renewals: 1)])
        let isAwaited = watch.failed(attempt, at: 5_000_000)
        let isMissed = watch.ended(attempt)
        watch.withheld(attempt)
        #expect(!isAwaited && !isMissed)
        #expect(watch.next == 5_000_000 && watch.overdue == nil)
        #expect(watch.awaits([Self.deadline(renewals: 1)]))
        #expect(!watch.awaits([Self.deadline()]))
    }

    /// The earliest first, of equal ones the first in the file, and one after the other.
    @Test func severalAreTriedOneByOne() throws {
        var watch = StayWatch()
        watch.expect([
            Self.deadline("late", due: 7_000_000), Self.deadline("b"), Self.deadline("a"),
        ])
        #expect(watch.next == 5_000_000)
        let rung = watch.rang(at: 8_000_000)
        let first = try #require(rung)
        #expect(first.deadline.key == "b" && watch.next == nil)
        // It is known to have come.
        watch.expect([Self.deadline("late", due: 7_000_000), Self.deadline("a")])
        let isAwaited = watch.ended(first)
        let next = watch.rang(at: 8_000_000)
        #expect(!isAwaited && next?.deadline.key == "a")
    }

    @Test func oneThatIsDeniedKeepsNoLaterOneFromBeingTried() throws {
        var watch = StayWatch()
        let all = [Self.deadline("a"), Self.deadline("b", due: 5_500_000)]
        watch.expect(all)
        let rung = watch.rang(at: 5_000_000)
        let denied = try #require(rung)
        _ = watch.failed(denied, at: 5_000_000)
        #expect(watch.next == 5_500_000 && watch.overdue?.due == 5_000_000)
        let second = watch.rang(at: 5_500_000)
        #expect(second?.deadline.key == "b")
        // What is told once more goes on as it was.
        watch.expect(all)
        let isAwaited = watch.ended(try #require(second))
        watch.expect([all[0]])
        #expect(isAwaited && watch.next == 6_000_000 && watch.overdue?.due == 5_000_000)
    }

    /// A moment of the calendar comes at another reading once that clock was set.
    @Test func whatComesSoonerNowIsTriedSooner() {
        var watch = self.watch
        watch.expect([Self.deadline(due: 3_000_000)])
        #expect(watch.next == 3_000_000)
    }

    @Test func whatCannotBeMadeIsTriedAgainOnceTheStateCarriesSomethingElse() throws {
        var watch = self.watch
        let rung = watch.rang(at: 5_000_000)
        watch.gaveUp(try #require(rung))
        watch.expect([Self.deadline()])
        #expect(watch.next == nil && watch.overdue == Self.deadline())
        let isThere = watch.reconsider(at: 7_000_000)
        #expect(isThere && watch.next == 7_000_000)
        let another = watch.reconsider(at: 8_000_000)
        #expect(!another)
    }
}
