import Testing

@testable import StateMachineServer

/// Whose piece of the history is read next.
struct HistoryTurnsTests {
    /// An honest reader asks for the next piece when it has the last one.
    @Test func whoAsksForMuchWaitsForItselfAlone() {
        var turns = HistoryTurns<String>()
        #expect(turns.asked("greedy 0", by: 1000) == "greedy 0")
        for number in 1..<2048 { #expect(turns.asked("greedy \(number)", by: 1000) == nil) }
        var read: [String] = []
        for piece in 0..<100 {
            #expect(turns.asked("honest \(piece)", by: 1001) == nil)
            var next = turns.ended()
            while let one = next, one != "honest \(piece)" {
                read.append(one)
                next = turns.ended()
            }
        }
        // Each of its pieces has waited for one piece of the other's.
        #expect(read.count <= 100)
    }

    @Test func aUsersReadsAreMadeInOrderAndEachOnce() {
        var turns = HistoryTurns<Int>()
        var made = [turns.asked(0, by: 7)].compactMap(\.self)
        for number in 1..<10 { #expect(turns.asked(number, by: 7) == nil) }
        while let next = turns.ended() { made.append(next) }
        #expect(made == Array(0..<10))
        #expect(turns.asked(10, by: 7) == 10)
        #expect(turns.ended() == nil)
    }

    @Test func afterTheEndOnlyWhatIsUnderWayIsMade() {
        var turns = HistoryTurns<Int>()
        _ = turns.asked(1, by: 7)
        _ = turns.asked(2, by: 7)
        _ = turns.asked(3, by: 8)
        #expect(turns.close().sorted() == [2, 3])
        #expect(turns.ended() == nil)
    }
}
