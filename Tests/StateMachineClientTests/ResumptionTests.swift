import DaemonScripts
import Testing

@testable import StateMachineClient

/// The decisions of a watch that is cut off as a script, without a connection.
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

    @Test mutating func aRefusalIsFinalUnlessTheDaemonGoesDownOrHasNotSeenTheMachine() throws {
        var resumption = Resumption(since: nil, isPatient: true)
        for error in ["shutting-down", "unavailable"] {
            let line = try Line.of(#"{"type":"reply","ok":false,"error":"\#(error)"}"#)
            _ = try self.pause(&resumption, after: .refused(line))
        }
        let no = try Line.of(#"{"type":"reply","ok":false,"error":"unknown-state"}"#)
        #expect(resumption.connectionFailed(.refused(no), using: &self.random) == nil)
    }
}
