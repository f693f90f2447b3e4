import DaemonScripts
import Glibc
import StateMachineClient
import Testing

@testable import statectl

@Suite struct ExitStatusTests {
    private static let refusals: [(ErrorCode, Int32)] = [
        (.unknownState, 2), (.badData, 2), (.badRequest, 2), (.badJSON, 2),
        (.unknownOperation, 2), (.conflict, 1), (.denied, 1), (.illegalTransition, 1),
        (.failedState, 1), (.notFound, 1), (.limit, 1), (.internal, 1), (.tooLong, 1),
        (.forbidden, 77), (.timeout, 124), (.shuttingDown, 75), (.unavailable, 69),
        (ErrorCode("of-tomorrow"), 1),
    ]
    private static let failures: [(ClientError, Int32)] = [
        (.notFound(tried: []), 69), (.unreachable(path: "/s", reason: ""), 69),
        (.crowded(path: "/s"), 69), (.silent(path: "/s", .zero), 69),
        (.malformed(path: "/s", ""), 69), (.lineTooLong(path: "/s", limit: 1), 69),
        (.pathTooLong("/s"), 2), (.notPermitted(path: "/s"), 77),
        (.lost(path: "/s"), 75), (.lostForGood(path: "/s", after: .zero), 75),
        (.timedOut(path: "/s", after: .zero), 124),
    ]
    private static let farewells: [(String, Int32)] = [
        ("limit", 1), ("restart", 75), ("shutdown", 75), ("too-long", 1),
    ]

    @Test(arguments: refusals) func aRefusalHasItsExitCode(code: ErrorCode, status: Int32) throws {
        let line = try Line.of(#"{"type":"reply","ok":false,"error":"\#(code)","message":"m"}"#)
        #expect(ExitStatus(.refused(line)).rawValue == status)
    }

    @Test func whatMayHaveHappenedEndsAsALostConnection() throws {
        let line = try Line.of(
            #"{"type":"reply","ok":false,"error":"unavailable","message":"m","unsure":true}"#
        )
        #expect(ExitStatus(.refused(line)).rawValue == 75)
    }

    @Test(arguments: failures)
    func aConnectionThatFailsHasItsExitCode(error: ClientError, status: Int32) {
        #expect(ExitStatus(error).rawValue == status)
    }

    @Test(arguments: farewells) func aFarewellHasItsExitCode(reason: String, status: Int32) throws {
        let line = try Line.of(#"{"type":"bye","reason":"\#(reason)"}"#)
        #expect(ExitStatus(.dismissed(line)).rawValue == status)
    }

    @Test func aReaderThatIsGoneIsNoFailureAndAFullDiskIs() {
        #expect(ExitStatus.reporting(OutputError.readerGone) == .yes)
        #expect(ExitStatus.reporting(OutputError.failed(ENOSPC)) == .no)
    }

    @Test func aMessageNamesThePathAndWhatToDo() {
        let path = "/run/statemachine/control.sock"
        let error = ClientError.unreachable(path: path, reason: "connection refused")
        #expect(
            error.description == "no daemon answers on \(path) (connection refused); "
                + "is the service running? systemctl status statemachine"
        )
        let silent = ClientError.silent(path: path, .milliseconds(2500))
        #expect(silent.description.contains("has not answered for 2.5 s;"))
    }
}
