import StateMachineCore
import Testing

@testable import StateMachineClient
@testable import statectl

/// The decisions of a watch as a script, without a connection.
@Suite struct ResumptionTests {
    private var random = SystemRandomNumberGenerator()
    private let unreachable = ClientError.unreachable(path: "/s", reason: "connection refused")
    private let line: Line

    init() throws {
        self.line = try Line.of(#"{"type":"state","seq":3,"state":"a","cursor":"e:3"}"#)
    }

    private mutating func pause(
        _ resumption: inout Resumption,
        after error: ClientError
    ) throws -> Duration {
        guard let pause = resumption.connectionFailed(error, using: &self.random) else {
            Issue.record("gave up after \(error)")
            return .zero
        }
        return pause
    }

    @Test mutating func aDaemonThatWasNeverThereIsNotWaitedFor() {
        var resumption = Resumption(since: nil, isPatient: false)
        #expect(resumption.connectionFailed(self.unreachable, using: &self.random) == nil)
    }

    @Test mutating func aPatientWatchWaitsForIt() throws {
        var resumption = Resumption(since: nil, isPatient: true)
        #expect(try self.pause(&resumption, after: self.unreachable) > .zero)
    }

    @Test mutating func pausesGrowToFiveSecondsAndStartAnewAfterALine() throws {
        var resumption = Resumption(since: nil, isPatient: false)
        resumption.lineReceived(self.line)
        for step in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            let pause = try self.pause(&resumption, after: self.unreachable)
            #expect(pause >= .milliseconds(step / 2) && pause <= .milliseconds(step))
        }
        resumption.lineReceived(self.line)
        #expect(try self.pause(&resumption, after: self.unreachable) <= .milliseconds(100))
        #expect(resumption.cursor == "e:3")
    }

    @Test mutating func aDaemonMayAskForALongerPauseWithinReason() throws {
        var resumption = Resumption(since: nil, isPatient: false)
        let soon = try Line.of(#"{"type":"bye","reason":"restart","retryMs":2000}"#)
        let pause = try self.pause(&resumption, after: .dismissed(soon))
        #expect(pause >= .seconds(2) && pause <= .milliseconds(2500))
        let never = try Line.of(#"{"type":"bye","reason":"limit","retryMs":86400000}"#)
        #expect(try self.pause(&resumption, after: .dismissed(never)) <= .milliseconds(6250))
    }

    @Test mutating func aLockedDoorIsBelievedAtOnceOrAfterAWhile() throws {
        let denied = ClientError.notPermitted(path: "/s")
        var fresh = Resumption(since: nil, isPatient: true)
        #expect(fresh.connectionFailed(denied, using: &self.random) == nil)
        var resumption = Resumption(since: nil, isPatient: false)
        resumption.lineReceived(self.line)
        for _ in 1..<5 { _ = try self.pause(&resumption, after: denied) }
        #expect(resumption.connectionFailed(denied, using: &self.random) == nil)
    }

    @Test mutating func aRefusalIsFinalUnlessTheDaemonIsGoingDown() throws {
        var resumption = Resumption(since: nil, isPatient: true)
        let down = try Line.of(#"{"type":"reply","ok":false,"error":"shutting-down"}"#)
        _ = try self.pause(&resumption, after: .refused(down))
        let no = try Line.of(#"{"type":"reply","ok":false,"error":"unknown-state"}"#)
        #expect(resumption.connectionFailed(.refused(no), using: &self.random) == nil)
    }

    private func each(_ type: String, _ seq: Int, _ rest: String = "") throws -> Line {
        try Line.of(
            #"{"type":"\#(type)","seq":\#(seq),"state":"a","data":{},"cursor":"e:\#(seq)"\#(rest)}"#
        )
    }

    @Test func theStateToBeginWithIsNoChange() throws {
        var progress = EachProgress(since: nil)
        #expect(progress.lineReceived(try self.each("state", 1)) == .keep)
        #expect(progress.lineReceived(try self.each("change", 2)) == .run(.change, resync: nil))
        #expect(progress.lineReceived(try self.each("live", 2)) == .keep)
    }

    @Test func whatAReaderIsTooSlowForIsReadAgainAndIsLostWhereThatBringsNothing() throws {
        var progress = EachProgress(since: "e:1")
        let lagged = try self.each("state", 9, #","resync":"lagged","missed":7"#)
        _ = progress.lineReceived(try self.each("change", 2))
        #expect(progress.lineReceived(lagged) == .readAgain)
        #expect(progress.lineReceived(lagged) == .run(.state, resync: "lagged"))
    }

    @Test func aLossBeforeAStateThatIsNotMeantIsToldWithTheNextChange() throws {
        var progress = EachProgress(since: "e:1")
        let evicted = try self.each("state", 9, #","resync":"evicted","selected":false"#)
        // If it ended now, the next run would hear of the loss again.
        #expect(progress.lineReceived(evicted) == .pass)
        #expect(progress.lineReceived(try self.each("live", 9)) == .pass)
        #expect(
            progress.lineReceived(try self.each("change", 10)) == .run(.change, resync: "evicted")
        )
        #expect(progress.lineReceived(try self.each("change", 11)) == .run(.change, resync: nil))
    }

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
