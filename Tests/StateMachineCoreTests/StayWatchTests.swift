import StateMachineCore
import Testing

/// When a machine makes the move that is due.
struct StayWatchTests {
    /// One that waits for what is due at 5 s.
    private var watch: StayWatch {
        var watch = StayWatch()
        watch.expect(Self.deadline())
        return watch
    }

    private static func deadline(renewals: UInt32 = 0) -> StayWatch.Deadline {
        StayWatch.Deadline(stay: 1, renewals: renewals, start: 2_000_000, delay: .seconds(3))
    }

    @Test func itIsTriedWhenItsTimeHasComeAndOnce() {
        var watch = self.watch
        #expect(watch.next == 5_000_000)
        let early = watch.rang(at: 4_999_999)
        let attempt = watch.rang(at: 5_000_000)
        let again = watch.rang(at: 6_000_000)
        #expect(early == nil && attempt?.deadline == Self.deadline() && again == nil)
        #expect(watch.next == nil && watch.overdueSince == nil)
    }

    @Test func whatWasTriedInVainIsTriedAgainAfterPausesThatGrow() throws {
        var watch = self.watch
        var now: Int64 = 5_000_000
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            let rung = watch.rang(at: now)
            let attempt = try #require(rung)
            let isAwaited = watch.failed(attempt, at: now)
            #expect(isAwaited && watch.overdueSince == 5_000_000)
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
        #expect(watch.next == nil && watch.overdueSince == 5_000_000)
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
        watch.expect(Self.deadline(renewals: 1))
        let isAwaited = watch.failed(attempt, at: 5_000_000)
        let isMissed = watch.missed(attempt)
        watch.withheld(attempt)
        #expect(!isAwaited && !isMissed)
        #expect(watch.next == 5_000_000 && watch.overdueSince == nil)
        #expect(watch.awaits(stay: 1, renewals: 1, start: 2_000_000))
        #expect(!watch.awaits(stay: 1, renewals: 0, start: 2_000_000))
    }
}
