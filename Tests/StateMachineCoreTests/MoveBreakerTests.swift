import StateMachineCore
import Testing

/// How many moves a machine makes by itself while nobody asks for anything.
struct MoveBreakerTests {
    private let limit = MoveBreaker.Limit(most: 3, time: .microseconds(10))

    /// A breaker that was told of moves at these times, each of which it permitted.
    private func breaker(movedAt times: Int64...) -> MoveBreaker {
        var breaker = MoveBreaker()
        for time in times {
            let isPermitted = breaker.permits(self.limit, at: time)
            #expect(isPermitted)
            breaker.moved(at: time)
        }
        return breaker
    }

    @Test func soManyMovesArePermittedInThatTimeAndNoMore() {
        var breaker = self.breaker(movedAt: 0, 1, 2)
        let isPermitted = breaker.permits(self.limit, at: 9)
        #expect(!isPermitted)
        #expect(breaker.isOpen)
    }

    @Test func aMoveCountsForThatLong() {
        var breaker = self.breaker(movedAt: 0, 1, 2, 10, 11, 12)
        let isPermitted = breaker.permits(self.limit, at: 19)
        #expect(!isPermitted)
    }

    @Test func thatManyOfThoseThatOthersMadeAreEnough() {
        var (all, newest) = (MoveBreaker(), MoveBreaker())
        for time in 0..<100 as Range<Int64> {
            all.moved(at: 4 * time)
            newest.moved(at: 4 * time, keeping: self.limit.most)
        }
        for time in [396, 401, 402, 403] as [Int64] {
            var (one, other) = (all, newest)
            let (isPermitted, isPermittedToo) = (
                one.permits(self.limit, at: time), other.permits(self.limit, at: time)
            )
            #expect(isPermitted == isPermittedToo)
            #expect(isPermitted == (time > 398))
        }
    }

    @Test func whatIsAskedForCountsAsAMoveOnlyOnceItIsMade() {
        var breaker = MoveBreaker()
        for time in 0..<100 as Range<Int64> {
            let isPermitted = breaker.permits(self.limit, at: time)
            #expect(isPermitted)
        }
    }

    @Test func onceOpenItStaysOpenUntilSomebodyAsksForSomething() {
        var breaker = self.breaker(movedAt: 0, 1, 2)
        _ = breaker.permits(self.limit, at: 3)
        let isPermittedMuchLater = breaker.permits(self.limit, at: 1_000_000)
        #expect(!isPermittedMuchLater)
        let wasOpen = breaker.lift()
        #expect(wasOpen)
        let isPermitted = breaker.permits(self.limit, at: 1_000_000)
        #expect(isPermitted)
    }

    @Test func aRequestBeforeItOpensForgetsTheMoves() {
        var breaker = self.breaker(movedAt: 0, 1)
        let wasOpen = breaker.lift()
        #expect(!wasOpen)
        for time in 2..<5 as Range<Int64> {
            let isPermitted = breaker.permits(self.limit, at: time)
            #expect(isPermitted)
            breaker.moved(at: time)
        }
    }
}
