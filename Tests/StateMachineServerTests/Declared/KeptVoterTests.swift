import StateMachineCore
import StateMachineSQLite
import TestSupport
import Testing

@testable import StateMachineServer

/// Holds and guards over an end of the daemon of which their connections are not left to the next
/// process; and holds that belong to no connection.
@Suite(.bounded) struct KeptVoterTests {
    private static let machine = """
        start: idle
        to: [idle, busy, waiting]
        states:
          idle: {}
          busy: {fields: {n: {type: integer, default: 0}}}
          waiting: {after: {1s: busy}}
        """

    private static let hold = #"{"op":"hold","before":["busy"],"why":"mine"}"#

    /// Runs the daemon twice, with the clocks of one computer; the clients of the first are still
    /// there when it ends.
    private static func twice(
        graceMs: Int? = nil,
        _ first: @escaping @Sendable (DeclaredDaemon) async throws -> Void,
        _ second: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        try await DeclaredMachine.with(Self.machine) { machine in
            try await machine.run(first)
            try await machine.run(graceMs: graceMs, second)
        }
    }

    /// The same, where a client of the first has asked for something.
    private static func twice(
        after line: String,
        graceMs: Int? = nil,
        _ second: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        let clients = Recorder<LineSocket>()
        try await Self.twice(graceMs: graceMs, Self.take(line, clients), second)
        withExtendedLifetime(clients) {}
    }

    private static func take(
        _ line: String,
        _ clients: Recorder<LineSocket>
    ) -> @Sendable (DeclaredDaemon) async throws -> Void {
        { daemon async throws in
            let client = try daemon.connect()
            clients.record(client)
            #expect(try await client.ask(line).ok == true)
        }
    }

    /// A client that has sent a set about which a guard has been asked.
    private static func setter(of daemon: DeclaredDaemon) async throws -> LineSocket {
        let setter = try daemon.connect()
        try setter.send("set busy")
        while try await daemon.ask("stats").items("guards")?.first?.bool("isAsked") != true {}
        return setter
    }

    @Test func aHoldDeniesUntilItsClientIsBackAndThenItIsItsAgain() async throws {
        try await Self.twice(after: Self.hold) { daemon async throws in
            let denied = try await daemon.ask("set busy")
            let by = try #require(denied.items("by")?.first)
            #expect(denied.error == "denied" && by.bool("away") == true)
            #expect(by.int("hold") == 1 && by.string("why") == "mine")
            let row = try #require(try await daemon.ask("stats").items("holds")?.first)
            #expect(row.bool("away") == true && row.string("mode") == "block")

            let client = try daemon.connect()
            let taken = try await client.ask(Self.hold)
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
        try await Self.twice(after: Self.hold) { daemon async throws in
            let (one, other) = (try daemon.connect(), try daemon.connect())
            #expect(try await one.ask(Self.hold).int("hold") == 1)
            #expect(try await other.ask(Self.hold).int("hold") == 2)
            one.vanish()
            while try await daemon.ask("stats").items("holds")?.count != 1 {}
            #expect(try await daemon.ask("set busy").error == "denied")
            #expect(try await daemon.ask("release 2").ok == true)
            #expect(try await daemon.ask("set busy").ok == true)
        }
    }

    @Test(arguments: [hold, #"{"op":"guard","before":["busy"],"onTimeout":"deny"}"#])
    func whatNobodyTakesAgainEndsWithItsTime(line: String) async throws {
        let clients = Recorder<LineSocket>()
        try await DeclaredMachine.with(Self.machine) { machine in
            try await machine.run { daemon async throws in
                try await Self.take(line, clients)(daemon)
                #expect(try await daemon.ask("set waiting").ok == true)
            }
            // The deadline passes while nobody is there.
            machine.clock.pass(.seconds(2))
            try await machine.run(graceMs: 200) { daemon async throws in
                let entered = try await daemon.ask(#"{"op":"wait","until":["busy"]}"#)
                #expect(entered.ok == true && entered.string("cause") == "after 1s")
                let stats = try await daemon.ask("stats")
                #expect(!stats.has("holds") && !stats.has("guards"))
                #expect(try await daemon.ask("set idle").ok == true)
            }
            try await machine.run { daemon async throws in
                #expect(try await daemon.ask("set busy").ok == true)
            }
        }
    }

    @Test(arguments: [false, true])
    func aGuardsQuestionWaitsForItsClient(allows: Bool) async throws {
        let line =
            #"{"op":"guard","id":"g","before":["busy"],"timeoutMs":60000,"onTimeout":"deny"}"#
        try await Self.twice(after: line) { daemon async throws in
            let setter = try await Self.setter(of: daemon)
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
        try await Self.twice(after: line, graceMs: 3000) { daemon async throws in
            let answer = try await daemon.ask("set busy")
            #expect(answer.ok == (silence == "allow"), "\(answer)")
            #expect(silence == "allow" || answer.items("by")?.first?.string("why") == "timeout")
        }
    }

    /// One that has taken over a question and does not vote is silent like any other.
    @Test func aGuardThatIsBackHasItsTimeAndNoMore() async throws {
        let line = #"{"op":"guard","before":["busy"],"timeoutMs":100,"onTimeout":"deny"}"#
        try await Self.twice(after: line) { daemon async throws in
            let setter = try await Self.setter(of: daemon)
            let back = try daemon.connect()
            _ = try await back.ask(line)
            #expect(try await back.next().type == "ask")
            #expect(try await setter.next().items("by")?.first?.string("why") == "timeout")
        }
    }

    /// The reply has its number, without which its client knows no question.
    @Test func aGuardThatIsBackIsAskedOnlyAfterItsReply() async throws {
        let line = #"{"op":"guard","before":["busy"],"timeoutMs":60000}"#
        try await Self.twice(after: line) { daemon async throws in
            let setter = try await Self.setter(of: daemon)
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

    @Test func whatIsReleasedOrEndsIsGoneForTheNextRun() async throws {
        try await Self.twice(
            { daemon async throws in
                let client = try daemon.connect()
                #expect(try await client.ask(Self.hold).int("hold") == 1)
                #expect(try await client.ask(Self.hold).int("hold") == 2)
                #expect(try await client.ask("release 1").ok == true)
                client.vanish()
                while try await daemon.ask("stats").has("holds") {}
                #expect(try await daemon.ask("set waiting").ok == true)
            },
            { daemon async throws in
                #expect(try await daemon.ask("stats").has("holds") == false)
                #expect(try await daemon.ask("set busy").ok == true)
            }
        )
    }

    /// Else it would be in force again after a crash.
    @Test func aReleaseIsAnsweredOnceItIsRecorded() async throws {
        try await Self.twice(
            { daemon async throws in
                let client = try daemon.connect()
                #expect(try await client.ask(Self.hold).int("hold") == 1)
                let disk = try Database(
                    "\(try #require(daemon.state))/statemachine.sqlite",
                    timeout: .seconds(10)
                )
                try disk.execute("BEGIN IMMEDIATE")
                try client.send("release 1")
                while try await daemon.ask("stats").has("holds") {}
                for _ in 0..<3 { _ = try await daemon.ask("ping") }
                #expect(try client.linesSoFar() == [])
                try disk.execute("COMMIT")
                #expect(try await client.next().ok == true)
            },
            { _ in }
        )
    }

    // MARK: - Without a connection

    private static let freeze =
        #"{"op":"hold","before":["busy"],"as":"freeze","untilMs":3600000,"why":"year's end"}"#

    @Test func aHoldOfANameOutlivesItsConnectionAndItsDaemon() async throws {
        try await Self.twice(
            { daemon async throws in
                #expect(try await daemon.ask(Self.freeze).int("hold") == 1)
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
                let other = Self.freeze.replacing("busy", with: "waiting")
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

    @Test func aHoldOfANameEndsAtItsTime() async throws {
        try await Self.twice(
            { daemon async throws in
                #expect(try await daemon.ask("set waiting").ok == true)
                let brief = Self.freeze.replacing("3600000", with: "300")
                #expect(try await daemon.ask(brief).ok == true)
                daemon.clock.pass(.seconds(2))
                let entered = try await daemon.ask(#"{"op":"wait","until":["busy"]}"#)
                #expect(entered.string("cause") == "after 1s")
                #expect(try await daemon.ask("stats").has("holds") == false)
                #expect(try await daemon.ask("set idle").ok == true)
            },
            { daemon async throws in #expect(try await daemon.ask("set busy").ok == true) }
        )
    }

    /// What was postponed does not slip through while its hold is renewed.
    @Test(arguments: ["block", "delay"])
    func aHoldIsRenewedWhileItsQuestionIsOpen(mode: String) async throws {
        try await Self.twice(
            { daemon async throws in
                let delay = #""mode":"delay","maxMs":60000,"as""#
                let delaying = Self.freeze.replacing(#""as""#, with: delay)
                #expect(try await daemon.ask(delaying).ok == true)
                let setter = try daemon.connect()
                try setter.send("set busy")
                // The set is being postponed once what stands before it in the order has been seen.
                while try await daemon.ask("stats").items("connections")?
                    .contains(where: { $0.int("sets") == 1 }) != true
                {}
                let renewed = mode == "delay" ? delaying : Self.freeze
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
        try await DeclaredMachine.with(Self.machine) { machine in
            try await machine.run { daemon async throws in
                let (guardian, setter) = (try daemon.connect(), try daemon.connect())
                _ = try await guardian.guard("g", "waiting", #""timeoutMs":60000"#)
                try setter.send("set waiting")
                let ask = try await guardian.next()
                // More than may wait for their turn.
                let (holders, renewals) = (16, 320)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for holder in 0..<holders {
                        let client = try daemon.connect()
                        let line = Self.freeze.replacing("freeze", with: "freeze\(holder)") + "\n"
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

    private static let days = Duration.seconds(60 * 86_400)

    /// Runs the daemon with a hold of a name, and again after a start whose clock is that much ahead.
    private static func ahead(
        by duration: Duration,
        _ body: @escaping @Sendable (DeclaredDaemon) async throws -> Void,
        then last: @escaping @Sendable (DeclaredDaemon) async throws -> Void = { _ in }
    ) async throws {
        let clock = ManualStayClock(wall: .now)
        try await DeclaredMachine.with(Self.machine, clock: clock) { machine in
            try await machine.run { daemon async throws in
                #expect(try await daemon.ask(Self.freeze).ok == true)
            }
            let later = ManualStayClock(uptime: .seconds(1), wall: clock.moment.wall)
            later.setWall(by: duration)
            try await machine.run(boot: "2", clock: later, body)
            try await machine.run(boot: "3", last)
        }
    }

    @Test func aHoldOutlivesAStartWhoseClockIsAhead() async throws {
        try await Self.ahead(
            by: Self.days,
            { daemon async throws in
                #expect(try await daemon.ask("set busy").error == "denied")
                #expect(try await daemon.ask("stats").items("holds")?.count == 1)
                daemon.clock.pass(.seconds(60))
                #expect(try await daemon.ask("set busy").error == "denied")
                // The time comes from the network.
                daemon.clock.setWall(by: .zero - Self.days)
                #expect(try await daemon.ask("stats").items("holds")?.count == 1)
            },
            then: { daemon async throws in
                #expect(try await daemon.ask("set busy").error == "denied")
                let hold = try await daemon.ask("stats").items("holds")?.first
                #expect(hold?.string("as") == "freeze")
            }
        )
    }

    /// By a day, or by being set.
    @Test(arguments: [false, true])
    func aClockThatStaysAheadIsBelievedLater(isSet: Bool) async throws {
        try await Self.ahead(
            by: Self.days,
            { daemon async throws in
                #expect(try await daemon.ask("set busy").error == "denied")
                if isSet {
                    daemon.clock.setWall(by: .seconds(120))
                } else {
                    daemon.clock.pass(.seconds(86_400))
                }
                #expect(try await daemon.ask("set busy").ok == true)
                #expect(try await daemon.ask("stats").has("holds") == false)
            },
            then: { daemon async throws in
                #expect(try await daemon.ask("stats").has("holds") == false)
            }
        )
    }

    @Test func aHoldEndsThatExpiredBetweenTwoRuns() async throws {
        try await Self.ahead(by: .seconds(86_400)) { daemon async throws in
            #expect(try await daemon.ask("set busy").ok == true)
            #expect(try await daemon.ask("stats").has("holds") == false)
        }
    }

    @Test func withoutAHistoryNothingIsPromised() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon async throws in
            let client = try daemon.connect()
            #expect(try await client.ask(Self.hold).bool("kept") == false)
            let refused = try await client.ask(Self.freeze)
            #expect(refused.error == "bad-request")
            #expect(refused.string("message")?.contains("start it with --state-directory") == true)
            #expect(try await client.ask("describe").item("limits")?.int("graceMs") == 10_000)
        }
    }

    // MARK: - Required guards

    /// A guard may go while a question is on its way to it, which then must not count as consent.
    @Test func aRequiredGuardThatGoesWhileItIsAskedDenies() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon async throws in
            let line = #"{"op":"guard","before":["busy"],"required":"door","timeoutMs":60000}"#
            for _ in 0..<200 {
                let (guardian, setter) = (try daemon.connect(), try daemon.connect())
                _ = try await guardian.ask(line)
                try setter.send("set busy")
                guardian.vanish()
                let answer = try await setter.next()
                #expect(answer.error == "denied", "\(answer)")
            }
        }
    }

    /// Over its own end and over the daemon's.
    @Test func aRequiredGuardThatIsBackHasItsNumber() async throws {
        let clients = Recorder<LineSocket>()
        let line = #"{"op":"guard","before":["busy"],"required":"door","timeoutMs":60000}"#
        let comeBack: @Sendable (DeclaredDaemon) async throws -> LineSocket = { daemon in
            let guardian = try daemon.connect()
            #expect(try await guardian.ask(line).int("guard") == 1)
            let setter = try daemon.connect()
            try setter.send("set busy")
            let ask = try await guardian.next()
            #expect(ask.type == "ask", "\(ask)")
            #expect(try await guardian.vote(ask, true, "").ok == true)
            #expect(try await setter.next().ok == true)
            #expect(try await setter.ask("set idle").ok == true)
            return guardian
        }
        try await Self.twice(
            { daemon async throws in
                for _ in 0..<2 {
                    try await comeBack(daemon).vanish()
                    let isMissing: @Sendable () async throws -> Bool = {
                        try await daemon.ask("stats").items("guards")?.first?.has("missing") == true
                    }
                    while try await !isMissing() {}
                }
                clients.record(try await comeBack(daemon))
            },
            { daemon async throws in
                _ = try await comeBack(daemon)
            }
        )
    }

    // MARK: - Users

    @Test func whoHasNoUserOfItsOwnOwnsNothing() {
        let nobody = Peer(uid: Peer.overflowUid, pid: 1)
        let (root, one) = (Peer(uid: 0, pid: 2), Peer(uid: 1000, pid: 3))
        #expect(!nobody.owns(Peer(uid: Peer.overflowUid, pid: 4)))
        #expect(root.owns(nobody) && root.owns(one))
        #expect(one.owns(Peer(uid: 1000, pid: 5)) && !one.owns(root) && !one.owns(nobody))
    }
}
