import Testing

@testable import StateMachineCore

@Suite(.enabled(if: Processors.areSeveral, "it never waits on a single processor"))
struct AdaptiveSpinTests {
    @Test func itAsksUntilWhatIsExpectedHasCome() {
        var spin = AdaptiveSpin(patience: .seconds(3600))
        var asked = 0
        for _ in 0..<2 {
            asked = 0
            let hasWaited = spin.wait {
                asked += 1
                return asked == 100
            }
            #expect(hasWaited)
        }
        #expect(asked == 100)
    }

    @Test func havingWaitedInVainItDoesNotWaitTheNext31Times() {
        var spin = AdaptiveSpin(patience: .zero)
        var waits: [Int] = []
        for time in 0..<64 {
            let hasWaited = spin.wait { false }
            if hasWaited { waits.append(time) }
        }
        #expect(waits == [0, 32])
    }
}
