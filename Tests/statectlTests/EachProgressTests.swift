import DaemonScripts
import StateMachineClient
import Testing

@testable import statectl

/// For which lines a watch runs a command each, and what it says of losses.
@Suite struct EachProgressTests {
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
}
