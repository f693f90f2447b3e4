import StateMachineCore
import StateMachineSQLite
import TestSupport
import Testing

/// When a hold ends: released, with its connection, at its time, and by which clock.
@Suite(.bounded) struct HoldEndTests {
    @Test(arguments: [KeptVoters.hold, #"{"op":"guard","before":["busy"],"onTimeout":"deny"}"#])
    func whatNobodyTakesAgainEndsWithItsTime(line: String) async throws {
        let clients = Recorder<LineSocket>()
        try await DeclaredMachine.with(KeptVoters.machine) { machine in
            try await machine.run { daemon async throws in
                try await KeptVoters.take(line, clients)(daemon)
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

    @Test func whatIsReleasedOrEndsIsGoneForTheNextRun() async throws {
        try await KeptVoters.twice(
            { daemon async throws in
                let client = try daemon.connect()
                #expect(try await client.ask(KeptVoters.hold).int("hold") == 1)
                #expect(try await client.ask(KeptVoters.hold).int("hold") == 2)
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
        try await KeptVoters.twice(
            { daemon async throws in
                let client = try daemon.connect()
                #expect(try await client.ask(KeptVoters.hold).int("hold") == 1)
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

    @Test func aHoldOfANameEndsAtItsTime() async throws {
        try await KeptVoters.twice(
            { daemon async throws in
                #expect(try await daemon.ask("set waiting").ok == true)
                let brief = KeptVoters.freeze.replacing("3600000", with: "300")
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

    private static let days = Duration.seconds(60 * 86_400)

    /// Runs the daemon with a hold of a name, and again after a start whose clock is that much ahead.
    private static func ahead(
        by duration: Duration,
        _ body: @escaping @Sendable (DeclaredDaemon) async throws -> Void,
        then last: @escaping @Sendable (DeclaredDaemon) async throws -> Void = { _ in }
    ) async throws {
        let clock = ManualStayClock(wall: .now)
        try await DeclaredMachine.with(KeptVoters.machine, clock: clock) { machine in
            try await machine.run { daemon async throws in
                #expect(try await daemon.ask(KeptVoters.freeze).ok == true)
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
}
