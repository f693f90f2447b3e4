import DaemonScripts
import StateMachineClient
import StateMachineCore
import Testing

@testable import statectl

/// Since when a state has lasted, as a wait for "so long" counts it.
@Suite struct LastingStateTests {
    private typealias State = LastingState

    private let now = ContinuousClock.now

    private func lasting(_ type: String, _ seq: Int, _ rest: String = "") throws -> Line {
        try Line.of(#"{"type":"\#(type)","seq":\#(seq),"state":"a","data":{}\#(rest)}"#)
    }

    @Test func whatHasPassedOfAStateCounts() throws {
        var state = State()
        state.lineReceived(try self.lasting("state", 1), at: self.now, .seconds(30))
        #expect(state.seq == 1)
        #expect(state.since == self.now - .seconds(30))
    }

    @Test func aChangeThatFollowsTheLastIsNoBreakAndOneThatDoesNotIs() throws {
        var state = State()
        state.lineReceived(try self.lasting("state", 1), at: self.now, .seconds(30))
        state.lineReceived(try self.lasting("change", 2), at: self.now, .seconds(0))
        #expect(state.since == self.now - .seconds(30))
        state.lineReceived(try self.lasting("change", 4), at: self.now, .seconds(2))
        #expect(state.since == self.now - .seconds(2))
    }

    @Test(arguments: ["state", "live"]) func aStateThatIsNotMeantEndsIt(type: String) throws {
        var state = State()
        state.lineReceived(try self.lasting("state", 1), at: self.now, .seconds(30))
        let other = try self.lasting(type, 2, #","selected":false"#)
        state.lineReceived(other, at: self.now, .zero)
        #expect(state.since == nil)
    }

    /// The daemon counts by a clock that nobody sets; an older one says nothing, and the wall clock has to do.
    @Test func howLongItHasLastedIsForTheDaemonToSay() throws {
        let now = WallTime(microseconds: 1_763_675_745_000_000)
        func age(_ seconds: Int64, _ rest: String = "") throws -> Duration {
            let at = WallTime(microseconds: now.microseconds - seconds * 1_000_000).rfc3339
            return try self.lasting("reply", 1, #","at":"\#(at)"\#(rest)"#).age(at: now)
        }
        #expect(try age(86_400, #","ageMs":1500"#) == .milliseconds(1500))
        #expect(try age(30) == .seconds(30))
        #expect(try age(-30) == .zero)
    }
}
