import StateMachineCore
import StateMachineSQLite
import TestSupport
import Testing

/// What declared machines do by themselves besides deadlines, with the test's clocks.
@Suite(.bounded) struct OwnMoveTests {
    private static let kiosk = """
        start: menu
        boot: starting
        events: {go: {}}
        states:
          starting: {when: {go: menu}}
          menu: {when: {go: playing}}
          playing:
            fields: {title: {type: string, default: none}}
            boot: again
            when: {go: menu}
            after: {1h: menu}
        """

    @Test func aNewStartOfTheMachineMovesItOnce() async throws {
        try await DeclaredMachine.with(Self.kiosk) { kiosk in
            // The very first start does not count as a boot.
            try await kiosk.run(boot: "1") { daemon in
                let got = try await daemon.ask("get")
                #expect(got.seq == 0)
            }
            try await kiosk.run(boot: "1") { daemon in
                let got = try await daemon.ask("get")
                #expect(got.seq == 0)
            }
            try await kiosk.run(boot: "2") { daemon in
                let got = try await daemon.ask("get")
                #expect(got.state == "starting" && got.seq == 1 && got.int("stay") == 1)
                let history = try daemon.connect()
                let line = try await history.ask("history")
                #expect(line.string("cause") == "boot" && !line.has("by"))
                _ = try await daemon.ask("send go")
                _ = try await daemon.ask("send go")
                _ = try await daemon.ask("update title=x")
            }
            try await kiosk.run(boot: "2") { daemon in
                kiosk.clock.pass(.seconds(600))
                let got = try await daemon.ask("get")
                #expect(got.seq == 4 && got.leftMs == 3_000_000)
            }
            // A boot that leads to the same state begins a new stay, and its deadline.
            try await kiosk.run(boot: "3") { daemon in
                let got = try await daemon.ask("get")
                #expect(got.state == "playing" && got.seq == 5 && got.int("stay") == 5)
                #expect(got.leftMs == 3_600_000)
                #expect(got.description.contains(#""title":"x""#))
            }
            try await kiosk.run(boot: "3") { daemon in
                let got = try await daemon.ask("get")
                #expect(got.seq == 5)
            }
        }
    }

    @Test func aMachineWithoutAHistoryKnowsNoBoot() async throws {
        try await DeclaredDaemon.run(Self.kiosk) { daemon in
            let got = try await daemon.ask("get")
            #expect(got.seq == 0)
        }
    }

    private static let clock = """
        start: tick
        moves: {most: 3, in: 10min}
        events: {poke: {}}
        states:
          tick: {after: {1min: tock}, when: {poke: ignore}}
          tock: {fields: {note: {type: string, default: none}}, after: {1min: tick}}
        """

    /// Lets it make the moves that it may make, and one that it may not.
    private func exhaust(
        _ daemon: DeclaredDaemon,
        _ watch: LineSocket,
        _ seqs: ClosedRange<Int>
    ) async throws {
        for seq in seqs {
            daemon.clock.pass(.seconds(60))
            #expect(try await watch.next().seq == seq)
        }
        daemon.clock.pass(.seconds(60))
        try await daemon.heardTheClock()
        let got = try await daemon.ask("get")
        #expect(got.seq == seqs.upperBound && got.leftMs == 0)
    }

    @Test func tooManyMovesOfItsOwnAreWithheldUntilSomebodyAsksForSomething() async throws {
        try await DeclaredDaemon.run(Self.clock) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            try await self.exhaust(daemon, watch, 1...3)
            for line in [try await daemon.ask("get"), try await daemon.ask("stats")] {
                #expect(line.item("suspended")?.int("moves") == 3, "\(line)")
                #expect(line.item("suspended")?.int("inMs") == 600_000)
                #expect(line.item("overdue")?.int("ms") == 0 && !line.has("trouble"))
            }
            // Reading, an unknown event or the passing of time does not release it.
            #expect(try await daemon.ask("send nosuch").error == "unknown-event")
            daemon.clock.pass(.seconds(3600))
            try await daemon.heardTheClock()
            let withheld = try await daemon.ask("get")
            #expect(withheld.seq == 3 && withheld.item("overdue")?.int("ms") == 3_600_000)
            #expect(withheld.item("overdue")?.has("by") == false)
            #expect(try await daemon.ask("update note=x").bool("changed") == true)
            #expect(try await watch.next().seq == 4)
            #expect(try await watch.next().string("cause") == "after 1min")
            let released = try await daemon.ask("get")
            #expect(!released.has("suspended") && !released.has("overdue"))
            // That move counts towards the next three.
            try await self.exhaust(daemon, watch, 6...7)
            let sent = try await daemon.ask("send poke")
            #expect(sent.ok == true)
            #expect(try await watch.next().seq == 8)
        }
    }

    @Test func movesThatAreFarApartAreNotTooMany() async throws {
        let machine = Self.clock.replacing("10min", with: "3min")
        try await DeclaredDaemon.run(machine) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            for seq in 1...8 {
                daemon.clock.pass(.seconds(60))
                #expect(try await watch.next().seq == seq)
            }
        }
    }

    @Test func whatIsOverdueSaysForHowLongAndWhoHoldsIt() async throws {
        let machine = """
            start: stuck
            to: [stuck, ready]
            states:
              stuck: {after: {20s: ready}}
              ready: {}
            """
        try await DeclaredDaemon.run(machine) { daemon async throws in
            let (one, other) = (try daemon.connect(), try daemon.connect())
            #expect(try await one.ask("get").has("overdue") == false)
            let hold = #"{"op":"hold","before":["ready"],"why":"mine"}"#
            #expect(try await one.ask(hold).int("hold") == 1)
            daemon.clock.pass(.seconds(19))
            try await daemon.heardTheClock()
            #expect(try await one.ask("get").has("overdue") == false)
            daemon.clock.pass(.seconds(71))
            try await daemon.heardTheClock()
            #expect(try await other.ask(hold).int("hold") == 2)
            for line in [try await one.ask("get"), try await daemon.ask("stats")] {
                let overdue = try #require(line.item("overdue"), "\(line)")
                #expect(overdue.int("ms") == 70_000 && !line.has("suspended"))
                let by = try #require(overdue.items("by"))
                #expect(by.map { $0.int("hold") } == [1, 2] && by[0].string("why") == "mine")
            }
            // It is tried again as soon as one goes, and the other holds it.
            #expect(try await daemon.ask("release 1").ok == true)
            let by = try await one.ask("get").item("overdue")?.items("by")
            #expect(by == nil || by?.map { $0.int("hold") } == [2])
            while try await one.ask("get").item("overdue")?.items("by")?.first?.int("hold") != 2 {}
            #expect(try await daemon.ask("release 2").ok == true)
            let entered = try await one.ask(#"{"op":"wait","until":["ready"]}"#)
            #expect(entered.ok == true)
            #expect(try await one.ask("get").has("overdue") == false)
        }
    }

    @Test func whyNothingIsRecordedIsSaidUntilSomethingIs() async throws {
        try await DeclaredMachine.with(Self.kiosk) { kiosk in
            try await kiosk.run { daemon async throws in
                #expect(try await daemon.ask("get").has("trouble") == false)
                let file = "\(try #require(daemon.state))/statemachine.sqlite"
                let disk = try Database(file, timeout: .seconds(10))
                try disk.execute("BEGIN IMMEDIATE")
                let refused = try await daemon.ask("send go")
                #expect(refused.error == "internal")
                for line in [try await daemon.ask("get"), try await daemon.ask("stats")] {
                    let trouble = try #require(line.string("trouble"), "\(line)")
                    #expect(refused.string("message")?.hasSuffix(trouble) == true)
                }
                try disk.execute("COMMIT")
                #expect(try await daemon.ask("send go").ok == true)
                for line in [try await daemon.ask("get"), try await daemon.ask("stats")] {
                    #expect(!line.has("trouble"))
                }
            }
        }
    }
}
