import StateMachineCore
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
            // Reading, an unknown event or the passing of time does not release it.
            #expect(try await daemon.ask("send nosuch").error == "unknown-event")
            daemon.clock.pass(.seconds(3600))
            try await daemon.heardTheClock()
            #expect(try await daemon.ask("get").seq == 3)
            #expect(try await daemon.ask("update note=x").bool("changed") == true)
            #expect(try await watch.next().seq == 4)
            #expect(try await watch.next().string("cause") == "after 1min")
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
}
