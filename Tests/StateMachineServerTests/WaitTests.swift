import FoundationEssentials
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineServer

/// Waits, and on whose time they are judged.
@Suite(.bounded) struct WaitTests {
    /// One of a state's name, one of an integer, which no table finds, and one of all but a state.
    @Test(arguments: ["locked", "open:degrees=7", "!closed"])
    func anIdleWaitIsNotJudgedOnASettersTime(pattern: String) async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"wait","id":1,"until":[""# + pattern + "\"]}", #"{"op":"ping"}"#)
            // The wait is kept once what follows it is answered.
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { server in
                let waits = try #require(server.clients.first { _ in true }).waits
                #expect(!waits.areBehind)
                for _ in 0..<100 {
                    lone.machine.state = .open(degrees: 7)
                    lone.machine.state = .closed
                    lone.machine.state = .locked(by: "x")
                    lone.machine.state = .closed
                }
                server.catchUp()
                // All changes are there, and the wait has not been compared with one of them.
                #expect(server.past.ring.head == 400)
                #expect(waits.count == 1)
                #expect(waits.areAtRest == (pattern != "!closed"))
            }
            // In its turn it is, with the first of them that ends it.
            let answer = lone.line()
            #expect(answer.contains(#""matched":""# + pattern))
            #expect(answer.contains(pattern == "locked" ? #""seq":3,"# : #""seq":1,"#))
        }
    }

    @Test func aWaitThatDoesNotWaitStillDoesNotWhenItIsTakenOver() async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"ping"}"#)
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { server in
                let line = Array(#"{"op":"wait","until":["locked"],"timeoutMs":0}"#.utf8)
                let request = try #require(try Request.parse(line))
                let row = WaitRow(line: Data(line), cursor: 0, leftMs: 1)
                let connection = try #require(server.clients.first { _ in true })
                try connection.waits.resume(row, of: server.epoch.description, asking: request)
                connection.output.want()
            }
            #expect(lone.line().contains(" after 0 ms, "))
        }
    }
}
