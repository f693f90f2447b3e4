import Testing

@testable import StateMachineCore

@Suite(.enabled(if: Processors.areSeveral, "it never waits on a single processor"))
struct AdaptiveSpinTests {
    @Test func itAsksUntilWhatIsExpectedHasCome() {
        var spin = AdaptiveSpin(timeout: .seconds(3600))
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

    @Test func theMoreOftenItWaitsInVainTheMoreSeldomItDoes() {
        var spin = AdaptiveSpin(timeout: .zero)
        var waits: [Int] = []
        for time in 0..<100 {
            let hasWaited = spin.wait { false }
            if hasWaited { waits.append(time) }
        }
        #expect(waits == [0, 2, 6, 14, 30, 62, 94])
    }

    @Test func havingWaitedForSomethingItIsAsPatientAsBefore() {
        var spin = AdaptiveSpin(timeout: .zero)
        func waits(for hasCome: Bool, _ times: Int) -> [Bool] {
            (0..<times).map { _ in spin.wait { hasCome } }
        }
        #expect(waits(for: false, 3) == [true, false, true])
        #expect(waits(for: true, 5) == [false, false, false, true, true])
        #expect(waits(for: false, 3) == [true, false, true])
    }
}
