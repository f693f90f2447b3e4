import NIOCore
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// Which transitions are logged one by one, and which in one line together.
struct TransitionPaceTests {
    private static func snapshot(_ seq: UInt64) -> Place {
        Place(seq: seq, value: AppState.ready(true).value, at: .now, stay: seq)
    }

    private static func time(_ milliseconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(5_000_000_000) + .milliseconds(milliseconds)
    }

    private var pace = TransitionPace()

    private mutating func expect(
        _ action: TransitionPace.Action,
        _ seqs: ClosedRange<UInt64>,
        at milliseconds: Int64,
        perSecond: Int = 20,
        isToBeHad: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let taken = self.pace.entered(
            seqs,
            Self.snapshot(seqs.upperBound),
            isToBeHad: isToBeHad,
            perSecond: perSecond,
            now: Self.time(milliseconds)
        )
        #expect(taken == action, sourceLocation: sourceLocation)
    }

    @Test mutating func fewAreLoggedOneByOne() {
        for second in 0..<10 {
            for number in 1...20 {
                let seq = UInt64(second * 20 + number)
                let time = Int64(second * 1000 + number * 40)
                self.expect(.log(1), seq...seq, at: time)
                self.pace.wrote(1)
            }
        }
        let rest = self.pace.takeRest()
        #expect(rest == nil)
    }

    @Test mutating func ofManyTheFirstAreLoggedAndTheRestIsOneLine() throws {
        self.expect(.log(5), 1...5, at: 0)
        self.expect(.logAndSumUp(15), 6...10_000, at: 1)
        self.expect(.wait, 10_001...10_002, at: 900)
        self.pace.wrote(20)
        #expect(self.pace.dueAt == Self.time(1000))
        // The writer may be late.
        self.expect(.wait, 10_003...10_003, at: 1500)
        let taken = self.pace.takeRest()
        let rest = try #require(taken)
        #expect(rest.count == 9983)
        #expect(rest.first == 21)
        #expect(rest.last.seq == 10_003)
        // What comes after that belongs to another second.
        #expect(self.pace.dueAt == nil)
        self.expect(.logAndSumUp(20), 10_004...10_030, at: 1501)
        #expect(self.pace.dueAt == Self.time(2501))
    }

    @Test mutating func nothingIsLoggedOneByOneIfThatIsAsked() {
        self.expect(.logAndSumUp(0), 1...1, at: 0, perSecond: 0)
        let rest = self.pace.takeRest()
        #expect(rest?.count == 1)
    }

    @Test mutating func whatTheRingHasLostIsCounted() throws {
        self.expect(.logAndSumUp(0), 1...3, at: 0, isToBeHad: false)
        let taken = self.pace.takeRest()
        let rest = try #require(taken)
        #expect(rest.first == 1)
        #expect(rest.count == 3)
    }

    /// For a log that does not keep up, one second's share and one line wait.
    @Test mutating func aSlowLogIsNotGivenMore() {
        self.expect(.log(20), 1...20, at: 0)
        self.expect(.logAndSumUp(0), 21...30, at: 1100)
        for second in 2..<100 {
            let seq = UInt64(31 + second)
            self.expect(.wait, seq...seq, at: Int64(second) * 1000)
        }
        self.pace.wrote(20)
        _ = self.pace.takeRest()
        self.expect(.logAndSumUp(20), 200...220, at: 200_000)
    }
}
