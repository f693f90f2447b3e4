import StateMachineCore
import Testing

/// When it waits at all, told by whether it looks.
@Suite(.enabled(if: Processors.areSeveral)) struct AdaptiveSpinTests {
    private var spin = AdaptiveSpin(timeout: .zero)

    /// Whether the next wait looks, with what it finds.
    private mutating func looks(finding hasCome: Bool = false) -> Bool {
        var hasLooked = false
        self.spin.wait {
            hasLooked = true
            return hasCome
        }
        return hasLooked
    }

    /// How many waits are left out until one looks, and finds nothing.
    private mutating func leftOut() -> Int {
        var count = 0
        while !self.looks() { count += 1 }
        return count
    }

    @Test mutating func eachWaitInVainHasMoreLeftOutUpToALimit() {
        var counts: [Int] = []
        for _ in 0..<8 { counts.append(self.leftOut()) }
        #expect(counts == [0, 1, 3, 7, 15, 31, 31, 31])
    }

    @Test mutating func afterASuccessItBeginsAnew() {
        for _ in 0..<4 { _ = self.leftOut() }
        var looks: [Bool] = []
        for _ in 0..<17 { looks.append(self.looks(finding: true)) }
        #expect(looks == Array(repeating: false, count: 15) + [true, true])
        let counts = (self.leftOut(), self.leftOut())
        #expect(counts == (0, 1))
    }
}
