import StateMachineClient
import StateMachineCore
import Testing

@testable import statectl

@Suite struct LastingStateTests {
    private typealias State = LastingState<ContinuousClock.Instant>

    private let now = ContinuousClock.now
    private let wall = WallTime(microseconds: 1_763_675_745_000_000)

    /// A line about a state that was entered `age` seconds ago.
    private func line(_ type: String, _ seq: Int, age: Int, _ rest: String = "") throws -> Line {
        let at = WallTime(microseconds: self.wall.microseconds - Int64(age) * 1_000_000).rfc3339
        return try Line.of(
            #"{"type":"\#(type)","seq":\#(seq),"state":"a","data":{},"at":"\#(at)"\#(rest)}"#
        )
    }

    @Test func whatHasPassedOfAStateCounts() throws {
        var state = State()
        state.lineReceived(try self.line("state", 1, age: 30), at: self.now, self.wall)
        #expect(state.seq == 1)
        #expect(state.since == self.now - .seconds(30))
    }

    @Test func aChangeThatFollowsTheLastIsNoBreakAndOneThatDoesNotIs() throws {
        var state = State()
        state.lineReceived(try self.line("state", 1, age: 30), at: self.now, self.wall)
        state.lineReceived(try self.line("change", 2, age: 0), at: self.now, self.wall)
        #expect(state.since == self.now - .seconds(30))
        state.lineReceived(try self.line("change", 4, age: 2), at: self.now, self.wall)
        #expect(state.since == self.now - .seconds(2))
    }

    @Test(arguments: ["state", "live"])
    func aStateThatIsNotMeantEndsIt(type: String) throws {
        var state = State()
        state.lineReceived(try self.line("state", 1, age: 30), at: self.now, self.wall)
        let other = try self.line(type, 2, age: 0, #","selected":false"#)
        state.lineReceived(other, at: self.now, self.wall)
        #expect(state.since == nil)
    }

    @Test func aClockThatWasSetBackCountsAsNothing() throws {
        var state = State()
        state.lineReceived(try self.line("state", 1, age: -30), at: self.now, self.wall)
        #expect(state.since == self.now)
    }
}
