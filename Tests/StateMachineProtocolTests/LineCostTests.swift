import Foundation
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

/// While one line is judged, nobody else is served, whoever sent it.
///
/// Each measurement is the thread's processor time, compared with that of something else, so how
/// busy the computer is does not matter.
@Suite("What a line costs", .serialized, .bounded) struct LineCostTests {
    /// Bytes in the longest lines; in the check, a quarter of what a line may have.
    private static let length =
        ProcessInfo.processInfo.environment["STATEMACHINE_ATTACK"] == "full" ? 65_000 : 16_250

    private let judge = LineJudge()

    /// Four times the bytes should cost four times as much; sixteen times if the cost is quadratic.
    private static let bound = 8.0

    @Test func growsWithItsLength() {
        // Work that is done only once is not counted.
        for line in CostlyLine.all { self.judge.judge(line.bytes(64)) }
        for line in CostlyLine.all {
            let (growth, cost) = self.growth(of: line)
            #expect(growth < Self.bound, "\(line.name): \(cost / 1000) µs, \(growth) times as much")
        }
    }

    @Test func isNoMoreThanThatOfManyValues() {
        let usual = self.usualCost
        for line in CostlyLine.all {
            let bytes = line.bytes(Self.length)
            var cost = self.judge.cost(of: bytes, times: 1)
            if cost > usual { cost = self.judge.cost(of: bytes, times: 5) }
            #expect(cost < usual, "\(line.name): \(cost / 1000) of \(usual / 1000) µs")
        }
    }

    /// A few times the cost of as many values as are allowed, which is far below 2 ms with
    /// optimization.
    private var usualCost: UInt64 {
        let members = (0..<2000).map { "\"key\($0)\":1" }.joined(separator: ",")
        let line = Array("{\"op\":\"set\",\"state\":\"table\",\"data\":{\(members)}}".utf8)
        return self.judge.cost(of: line, times: 5) * 12
    }

    /// The cost of the line relative to one of a quarter of its length.
    private func growth(of line: CostlyLine) -> (growth: Double, cost: UInt64) {
        let (short, long) = (line.bytes(Self.length / 4), line.bytes(Self.length))
        // Measured once unless that looks bad: another process may have used the caches.
        for times in [1, 5] {
            let costs = (
                self.judge.cost(of: short, times: times), self.judge.cost(of: long, times: times)
            )
            let growth = Double(costs.1) / Double(max(costs.0, 1))
            // Below a tenth of a millisecond, growth does not matter.
            if growth < Self.bound || costs.1 < 100_000 { return (0, costs.1) }
            if times == 5 { return (growth, costs.1) }
        }
        return (0, 0)
    }
}
