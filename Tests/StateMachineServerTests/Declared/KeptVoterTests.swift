import StateMachineCore
import StateMachineSQLite
import TestSupport
import Testing

@testable import StateMachineServer

/// Holds and guards over an end of the daemon of which their connections are not left to the next
/// process; and holds that belong to no connection.
@Suite(.bounded) struct KeptVoterTests {
    @Test func aHoldDeniesUntilItsClientIsBackAndThenItIsItsAgain() async throws {
        try await KeptVoters.twice(after: KeptVoters.hold) { daemon async throws in
            let denied = try await daemon.ask("set busy")
            let by = try #require(denied.items("by")?.first)
            #expect(denied.error == "denied" && by.bool("away") == true)
            #expect(by.int("hold") == 1 && by.string("why") == "mine")
            let row = try #require(try await daemon.ask("stats").items("holds")?.first)
            #expect(row.bool("away") == true && row.string("mode") == "block")

            let client = try daemon.connect()
            let taken = try await client.ask(KeptVoters.hold)
            #expect(taken.int("hold") == 1 && !taken.has("kept"))
            let again = try await daemon.ask("set busy")
            #expect(again.error == "denied" && again.items("by")?.count == 1)
            #expect(again.items("by")?.first?.has("away") == false)
            let rows = try #require(try await daemon.ask("stats").items("holds"))
            #expect(rows.count == 1 && !rows[0].has("away"))
            #expect(rows[0].string("at") == row.string("at"))
            #expect(try await daemon.ask("release 1").ok == true)
            #expect(try await daemon.ask("set busy").ok == true)
        }
    }

    @Test func ofOneKeptThingOnlyOneOfTwoClientsTakesOver() async throws {
        try await KeptVoters.twice(after: KeptVoters.hold) { daemon async throws in
            let (one, other) = (try daemon.connect(), try daemon.connect())
            #expect(try await one.ask(KeptVoters.hold).int("hold") == 1)
            #expect(try await other.ask(KeptVoters.hold).int("hold") == 2)
            one.vanish()
            while try await daemon.ask("stats").items("holds")?.count != 1 {}
            #expect(try await daemon.ask("set busy").error == "denied")
            #expect(try await daemon.ask("release 2").ok == true)
            #expect(try await daemon.ask("set busy").ok == true)
        }
    }

    @Test(arguments: [false, true])
    func aGuardsQuestionWaitsForItsClient(allows: Bool) async throws {
        let line =
            #"{"op":"guard","id":"g","before":["busy"],"timeoutMs":60000,"onTimeout":"deny"}"#
        try await KeptVoters.twice(after: line) { daemon async throws in
            let setter = try await KeptVoters.setter(of: daemon)
            let back = try daemon.connect()
            #expect(try await back.ask(line).int("guard") == 1)
            let ask = try await back.next()
            #expect(ask.type == "ask" && ask.string("id") == "g")
            #expect(try await back.vote(ask, allows, "not yet").ok == true)
            let answer = try await setter.next()
            #expect(answer.ok == allows, "\(answer)")
            #expect(allows || answer.items("by")?.first?.string("why") == "not yet")
        }
    }

    @Test(arguments: ["allow", "deny"])
    func aGuardThatStaysAwayCountsAsItsSilence(silence: String) async throws {
        let line = #"{"op":"guard","before":["busy"],"onTimeout":"\#(silence)"}"#
        try await KeptVoters.twice(after: line, graceMs: 3000) { daemon async throws in
            let answer = try await daemon.ask("set busy")
            #expect(answer.ok == (silence == "allow"), "\(answer)")
            #expect(silence == "allow" || answer.items("by")?.first?.string("why") == "timeout")
        }
    }

    /// One that has taken over a question and does not vote is silent like any other.
    @Test func aGuardThatIsBackHasItsTimeAndNoMore() async throws {
        let line = #"{"op":"guard","before":["busy"],"timeoutMs":100,"onTimeout":"deny"}"#
        try await KeptVoters.twice(after: line) { daemon async throws in
            let setter = try await KeptVoters.setter(of: daemon)
            let back = try daemon.connect()
            _ = try await back.ask(line)
            #expect(try await back.next().type == "ask")
            #expect(try await setter.next().items("by")?.first?.string("why") == "timeout")
        }
    }

    /// The reply has its number, without which its client knows no question.
    @Test func aGuardThatIsBackIsAskedOnlyAfterItsReply() async throws {
        let line = #"{"op":"guard","before":["busy"],"timeoutMs":60000}"#
        try await KeptVoters.twice(after: line) { daemon async throws in
            let setter = try await KeptVoters.setter(of: daemon)
            // What it takes over cannot be recorded yet, so the reply has to wait.
            let file = "\(try #require(daemon.state))/statemachine.sqlite"
            let disk = try Database(file, timeout: .seconds(10))
            try disk.execute("BEGIN IMMEDIATE")
            let back = try daemon.connect()
            // It says something else, so there is something to record.
            try back.send(#"{"op":"guard","before":["busy"],"timeoutMs":60000,"why":"not now"}"#)
            let isBack: @Sendable () async throws -> Bool = {
                try await daemon.ask("stats").items("guards")?.first?.bool("away") != true
            }
            while try await !isBack() {}
            // Whatever is due at once has been written after these turns of the loop.
            for _ in 0..<3 { _ = try await daemon.ask("ping") }
            try disk.execute("COMMIT")
            let reply = try await back.next()
            #expect(reply.type == "reply" && reply.int("guard") == 1, "\(reply)")
            let ask = try await back.next()
            #expect(ask.type == "ask", "\(ask)")
            #expect(try await back.vote(ask, true, "").ok == true)
            #expect(try await setter.next().ok == true)
        }
    }

    // MARK: - Without a connection

    @Test func aHoldOfANameOutlivesItsConnectionAndItsDaemon() async throws {
        try await KeptVoters.twice(
            { daemon async throws in
                #expect(try await daemon.ask(KeptVoters.freeze).int("hold") == 1)
                #expect(try await daemon.ask("set busy").error == "denied")
            },
            { daemon async throws in
                let denied = try await daemon.ask("set busy")
                let by = try #require(denied.items("by")?.first)
                #expect(by.string("as") == "freeze" && by.string("why") == "year's end")
                #expect(!by.has("away") && by.int("hold") == 1)
                let row = try #require(try await daemon.ask("stats").items("holds")?.first)
                #expect(row.string("as") == "freeze" && row.has("until") && !row.has("away"))
                // Taken again it is renewed, with its number.
                let other = KeptVoters.freeze.replacing("busy", with: "waiting")
                #expect(try await daemon.ask(other).int("hold") == 1)
                #expect(try await daemon.ask("stats").items("holds")?.count == 1)
                #expect(try await daemon.ask("set busy").ok == true)
                #expect(try await daemon.ask("set waiting").error == "denied")
                let release = #"{"op":"release","as":"freeze"}"#
                #expect(try await daemon.ask(release).ok == true)
                #expect(try await daemon.ask("set waiting").ok == true)
                #expect(try await daemon.ask(release).error == "not-found")
            }
        )
    }

    /// What was postponed does not slip through while its hold is renewed.
    @Test(arguments: ["block", "delay"])
    func aHoldIsRenewedWhileItsQuestionIsOpen(mode: String) async throws {
        try await KeptVoters.twice(
            { daemon async throws in
                let delay = #""mode":"delay","maxMs":60000,"as""#
                let delaying = KeptVoters.freeze.replacing(#""as""#, with: delay)
                #expect(try await daemon.ask(delaying).ok == true)
                let setter = try daemon.connect()
                try setter.send("set busy")
                // The set is being postponed once what stands before it in the order has been seen.
                while try await daemon.ask("stats").items("connections")?
                    .contains(where: { $0.int("sets") == 1 }) != true
                {}
                let renewed = mode == "delay" ? delaying : KeptVoters.freeze
                #expect(try await daemon.ask(renewed).int("hold") == 1)
                #expect(try await daemon.ask("get").state == "idle")
                #expect(try await daemon.ask(#"{"op":"release","as":"freeze"}"#).ok == true)
                let answer = try await setter.next()
                #expect(answer.ok == (mode == "delay"), "\(answer)")
            },
            { _ in }
        )
    }

    /// Each renewal retires a voter that may still be sent the question that is open.
    @Test func whoeverRenewsHoldsWhileAQuestionIsOpenTakesNobodysPlace() async throws {
        try await DeclaredMachine.with(KeptVoters.machine) { machine in
            try await machine.run { daemon async throws in
                let (guardian, setter) = (try daemon.connect(), try daemon.connect())
                _ = try await guardian.guard("g", "waiting", #""timeoutMs":60000"#)
                try setter.send("set waiting")
                let ask = try await guardian.next()
                // More than may wait for their turn.
                let (holders, renewals) = (16, 160)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for holder in 0..<holders {
                        let client = try daemon.connect()
                        let name = "freeze\(holder)"
                        let line = KeptVoters.freeze.replacing("freeze", with: name) + "\n"
                        try client.send(raw: String(repeating: line, count: renewals))
                        tasks.addTask {
                            for _ in 0..<renewals {
                                let reply = try await client.next()
                                #expect(reply.ok == true)
                            }
                        }
                    }
                    try await tasks.waitForAll()
                }
                let other = try daemon.connect()
                try other.send("set idle")
                #expect(try await daemon.ask("ping").ok == true)
                #expect(try await guardian.vote(ask, true).ok == true)
                #expect(try await setter.next().bool("changed") == true)
                let answer = try await other.next()
                #expect(answer.ok == true, "\(answer)")
                let denied = try await daemon.ask("set busy")
                #expect(denied.items("by")?.count == holders, "\(denied)")
            }
        }
    }

    // MARK: - Clocks

    @Test func withoutAHistoryNothingIsPromised() async throws {
        try await DeclaredDaemon.run(KeptVoters.machine) { daemon async throws in
            let client = try daemon.connect()
            #expect(try await client.ask(KeptVoters.hold).bool("kept") == false)
            let refused = try await client.ask(KeptVoters.freeze)
            #expect(refused.error == "bad-request")
            #expect(refused.string("message")?.contains("start it with --state-directory") == true)
            #expect(try await client.ask("describe").item("limits")?.int("graceMs") == 10_000)
        }
    }

    // MARK: - Required guards

    // MARK: - Users
}
