import StateMachineCore
import TestSupport
import Testing

/// Several times of a stay, times from fields, moments of the calendar and times of groups: each comes when it is to come,
/// whatever becomes of the daemon, the computer and its clocks.
@Suite(.bounded) struct TimesTests {
    private static let machine = """
        machine: times
        start: idle
        events: {begin: {left: time}, next: {}, touch: {}, stop: {}}
        groups:
          open: {states: [first, second], after: {60s: late}}
          once: {states: [inside, back], after: {10s: back}}
        states:
          idle: {when: {begin: chosen}}
          kept:
            fields: {n: {type: integer, min: 0, max: 3, default: 0}}
            when: {touch: stay}
            after: {20s: [keep n+=1, ignore], 22s: ignore, 60s: late}
          chosen:
            fields: {left: time}
            when: {stop: "stopped left={remaining}", touch: stay}
            after: {"{left}": late}
          stopped: {fields: {left: time}, when: {begin: chosen}}
          moment: {fields: {until: instant}, after: {"{until}": late}}
          maybe: {fields: {left: {type: time, optional: true}}, after: {"{left}": late, 5min: idle}}
          first: {when: {next: second}}
          second: {}
          inside: {}
          back: {}
          late: {}
        """

    /// How each kind is begun, so that it leads to `late` after 60 s.
    private static let kinds = [
        "kept", "chosen left=60s", "moment until=2026-11-20T13:01:00+01:00", "first",
    ]

    /// Begins one, and lets a third of it pass; what happens in it by then has happened.
    private static func begin(_ kind: String, _ daemon: DeclaredDaemon) async throws -> Int {
        let client = try daemon.connect()
        let watch = try daemon.connect()
        _ = try await watch.ask("watch")
        _ = try await client.ask("set \(kind)")
        _ = try await watch.next()
        daemon.clock.pass(.seconds(20))
        switch kind {
        case "kept": #expect(try await watch.next().item("data")?.int("n") == 1)
        case "first":
            let second = try await client.ask("send next")
            #expect(second.state == "second" && second.seq == 2)
        default: return 1
        }
        return 2
    }

    /// The state, once what has passed meanwhile and changes nothing has been recorded, which comes without a line.
    private static func settled(_ daemon: DeclaredDaemon, at seq: Int) async throws -> JSONLine {
        while true {
            let got = try await daemon.ask("get")
            guard got.seq == seq, got.leftMs == 0 else { return got }
        }
    }

    /// Expects that as much is left, and then that it comes.
    private static func ends(
        _ daemon: DeclaredDaemon,
        seq: Int,
        leftMs: Int,
        clock: ManualStayClock
    ) async throws {
        let watch = try daemon.connect()
        #expect(try await watch.ask("watch").seq == seq)
        let got = try await Self.settled(daemon, at: seq)
        #expect(got.seq == seq && got.leftMs == leftMs && got.item("due")?.state == "late")
        clock.pass(.milliseconds(leftMs - 1))
        try await daemon.heardTheClock()
        #expect(try await daemon.ask("get").seq == seq)
        clock.pass(.milliseconds(1))
        let late = try await watch.next()
        #expect(late.state == "late" && late.seq == seq + 1)
    }

    /// Begins one in a daemon that is killed there; `body` gets what it has left, and the seq that it had come to.
    private static func killed(
        in kind: String,
        clock: ManualStayClock = ManualStayClock(),
        _ body: @escaping @Sendable (DeclaredMachine, String, Int) async throws -> Void
    ) async throws {
        try await DeclaredMachine.with(Self.machine, clock: clock) { machine in
            try await machine.run { daemon in
                let seq = try await Self.begin(kind, daemon)
                try await body(machine, try leftovers(of: machine.state), seq)
            }
        }
    }

    /// The clock of a computer that came up that long ago, 15 s after what another one shows.
    private static func later(than clock: ManualStayClock, uptime: Duration) -> ManualStayClock {
        let wall = clock.moment.wall.microseconds
        return ManualStayClock(
            uptime: uptime,
            wall: WallTime(microseconds: wall + 15_000_000)
        )
    }

    @Test(arguments: Self.kinds) func itComesThoughTheDaemonWasKilled(kind: String) async throws {
        try await Self.killed(in: kind) { machine, left, seq in
            let clock = machine.clock
            clock.pass(.seconds(15))
            try await machine.run(from: left) {
                try await Self.ends($0, seq: seq, leftMs: 25_000, clock: clock)
            }
        }
    }

    @Test(arguments: Self.kinds) func itComesOnceIfItPassedMeanwhile(kind: String) async throws {
        try await Self.killed(in: kind) { machine, left, seq in
            machine.clock.pass(.seconds(100))
            try await machine.run(from: left) { again in
                let wait = try again.connect()
                let late = try await wait.ask(#"{"op":"wait","until":["late"]}"#)
                #expect(late.seq == seq + 1)
            }
            try await machine.run(from: left) { third in
                let got = try await third.ask("get")
                #expect(got.seq == seq + 1)
            }
        }
    }

    @Test(arguments: Self.kinds) func itComesAfterAReboot(kind: String) async throws {
        try await Self.killed(in: kind) { machine, left, seq in
            let later = Self.later(than: machine.clock, uptime: .seconds(9))
            try await machine.run(boot: "2", clock: later, from: left) {
                try await Self.ends($0, seq: seq, leftMs: 25_000, clock: later)
            }
        }
    }

    /// A snapshot of the computer that is resumed has the boot that it had, and an uptime that is less.
    @Test(arguments: Self.kinds) func itComesInAResumedSnapshot(kind: String) async throws {
        let clock = ManualStayClock(uptime: .seconds(5000))
        try await Self.killed(in: kind, clock: clock) { machine, left, seq in
            let young = Self.later(than: clock, uptime: .seconds(10))
            try await machine.run(clock: young, from: left) {
                try await Self.ends($0, seq: seq, leftMs: 25_000, clock: young)
            }
        }
    }

    /// What counts from a beginning does not ask the wall clock; what is a moment of it does.
    @Test(arguments: Self.kinds) func theWallClockIsSet(kind: String) async throws {
        try await DeclaredMachine.with(Self.machine) { machine in
            let clock = machine.clock
            try await machine.run { daemon in
                let seq = try await Self.begin(kind, daemon)
                let isMoment = kind.hasPrefix("moment")
                clock.pass(.seconds(5))
                try await daemon.heardTheClock()
                clock.setWall(by: .seconds(-3600))
                try await daemon.heardTheClock()
                let got = try await Self.settled(daemon, at: seq)
                #expect(got.leftMs == (isMoment ? 3_635_000 : 35_000))
                let watch = try daemon.connect()
                #expect(try await watch.ask("watch").seq == seq)
                clock.setWall(by: .seconds(7200))
                try await daemon.heardTheClock()
                if isMoment {
                    #expect(try await watch.next().state == "late")
                } else {
                    try await Self.ends(daemon, seq: seq, leftMs: 35_000, clock: clock)
                }
            }
        }
    }

    /// `touch` has the state's own times begin anew, and what had come comes again.
    @Test func aStayArmsAllOfItsTimesAnew() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            let client = try daemon.connect()
            _ = try await client.ask("set kept")
            _ = try await watch.next()
            daemon.clock.pass(.seconds(20))
            #expect(try await watch.next().item("data")?.int("n") == 1)
            // The next one passes and changes nothing; then the last one is due.
            daemon.clock.pass(.seconds(10))
            try await daemon.heardTheClock()
            let waiting = try await client.ask("get")
            #expect(waiting.seq == 2 && waiting.leftMs == 30_000)
            #expect(waiting.item("due")?.state == "late")
            let touched = try await client.ask("send touch")
            #expect(touched.seq == 2 && touched.item("due")?.item("data")?.int("n") == 2)
            #expect(try await client.ask("get").leftMs == 20_000)
            daemon.clock.pass(.seconds(20))
            #expect(try await watch.next().item("data")?.int("n") == 2)
            daemon.clock.pass(.seconds(40))
            #expect(try await watch.next().state == "late")
        }
    }

    @Test func whatAFieldHasOnEntryCountsUntilTheStayBeginsAnew() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send begin left=60s")
            daemon.clock.pass(.seconds(10))
            _ = try await client.ask("update left=5s")
            #expect(try await client.ask("get").leftMs == 50_000)
            _ = try await client.ask("send touch")
            #expect(try await client.ask("get").leftMs == 5000)
        }
    }

    @Test func aTimeThatIsAbsentDoesNotCome() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("set maybe")
            #expect(try await client.ask("get").leftMs == 300_000)
            _ = try await client.ask("set maybe left=1min")
            #expect(try await client.ask("get").leftMs == 60_000)
        }
    }

    /// As a computer does that has no clock of its own: it is set once the daemon runs.
    @Test func theWallClockIsSetAfterAReboot() async throws {
        try await DeclaredMachine.with(Self.machine) { machine in
            try await machine.run { daemon in
                _ = try await daemon.ask("set second")
                _ = try await daemon.ask("set kept")
            }
            let wall = machine.clock.moment.wall
            let young = ManualStayClock(uptime: .seconds(9), wall: wall)
            try await machine.run(boot: "2", clock: young) { daemon in
                young.setWall(by: .seconds(15))
                try await daemon.heardTheClock()
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 5000)
            }
        }
    }

    @Test func theWallClockIsSetAfterATimeBeganAnew() async throws {
        let anew = """
            machine: anew
            start: only
            events: {touch: {}}
            states:
              only:
                fields: {n: {type: integer, default: 0}}
                when: {touch: stay}
                after: {10s: keep n=1}
            """
        try await DeclaredDaemon.run(anew) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            daemon.clock.pass(.seconds(10))
            #expect(try await watch.next().has("due") == false)
            _ = try await daemon.ask("send touch")
            daemon.clock.setWall(by: .seconds(7200))
            try await daemon.heardTheClock()
            let got = try await daemon.ask("get")
            #expect(got.item("due")?.string("at") == "2026-11-20T14:00:20.000000Z")
        }
    }

    @Test func whatWasAbsentOnEntryGivesNoTimeAfterARestart() async throws {
        try await DeclaredMachine.with(Self.machine) { machine in
            try await machine.run { daemon in
                let client = try daemon.connect()
                _ = try await client.ask("set maybe")
                _ = try await client.ask("update left=1min")
                #expect(try await client.ask("get").leftMs == 300_000)
            }
            try await machine.run { daemon in
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 300_000)
            }
        }
    }

    /// It is no move, and so not one too many.
    @Test func aTimeThatChangesNothingSuspendsNothing() async throws {
        let calm = """
            machine: calm
            start: first
            moves: {most: 1, in: 10min}
            states:
              first: {after: {10s: second}}
              second: {after: {10s: ignore, 30s: first}}
            """
        try await DeclaredDaemon.run(calm) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            daemon.clock.pass(.seconds(10))
            #expect(try await watch.next().state == "second")
            try await daemon.heardTheClock()
            daemon.clock.pass(.seconds(10))
            try await daemon.heardTheClock()
            let client = try daemon.connect()
            var got = try await client.ask("get")
            while got.leftMs == 0, !got.has("suspended") { got = try await client.ask("get") }
            #expect(got.leftMs == 20_000 && !got.has("suspended"))
            daemon.clock.pass(.seconds(20))
            try await daemon.heardTheClock()
            let last = try await client.ask("get")
            #expect(last.has("suspended"))
        }
    }

    /// What asks for `{remaining}` comes in one write with what has the time begin anew, before anything is recorded.
    @Test func whatIsAskedAheadOfTheGroupIsOfTheStayAsItWillBe() async throws {
        try await DeclaredMachine.with(Self.machine) { machine in
            let clock = machine.clock
            try await machine.run { daemon in
                let client = try daemon.connect()
                _ = try await client.ask("send begin left=60s")
                clock.pass(.seconds(40))
                try client.send("send touch\nsend stop")
                _ = try await client.next()
                let stopped = try await client.next()
                #expect(stopped.item("data")?.int("left") == 60_000)
            }
        }
    }

    @Test func aTimePauses() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send begin left=60s")
            daemon.clock.pass(.milliseconds(41_500))
            let stopped = try await client.ask("send stop")
            #expect(stopped.item("data")?.int("left") == 18_500 && !stopped.has("due"))
            daemon.clock.pass(.seconds(1000))
            let begun = try await client.ask("send begin left=18500ms")
            #expect(begun.state == "chosen")
            #expect(try await client.ask("get").leftMs == 18_500)
        }
    }

    @Test func aGroupsTimeComesOnceUntilTheGroupIsEnteredAnew() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            let client = try daemon.connect()
            _ = try await client.ask("set inside")
            _ = try await watch.next()
            daemon.clock.pass(.seconds(10))
            let back = try await watch.next()
            #expect(back.state == "back" && !back.has("due"))
            let inside = try await client.ask("set inside")
            #expect(!inside.has("due"))
            _ = try await client.ask("set idle")
            _ = try await client.ask("set inside")
            #expect(try await client.ask("get").leftMs == 10_000)
        }
    }

    /// One that a hold denies stays due, and keeps no later one from coming.
    @Test func oneThatIsDeniedKeepsNoLaterOneFromComing() async throws {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            let client = try daemon.connect()
            let held = try await client.ask(
                #"{"op":"hold","before":[{"state":"kept","where":["n>=1"]}],"why":"no"}"#
            )
            #expect(held.bool("ok") == true)
            _ = try await client.ask("set kept")
            #expect(try await watch.next().state == "kept")
            daemon.clock.pass(.seconds(20))
            try await daemon.heardTheClock()
            let denied = try await client.ask("get")
            #expect(denied.seq == 1 && denied.leftMs == 0 && denied.has("overdue"))
            daemon.clock.pass(.seconds(40))
            #expect(try await watch.next().state == "late")
        }
    }

    /// Also where all of its times have come by then, and in another of its states.
    @Test func aNewTimeOfAGroupCountsFromItsEntry() async throws {
        let text = Self.machine.replacing("  back: {}", with: "  back: {after: {1h: late}}")
        let next = text.replacing("after: {10s: back}", with: "after: {10s: back, 60s: late}")
        try await DeclaredMachine.with(text) { machine in
            let clock = machine.clock
            try await machine.run { daemon in
                let watch = try daemon.connect()
                _ = try await watch.ask("watch")
                _ = try await daemon.ask("set inside")
                _ = try await watch.next()
                clock.pass(.seconds(10))
                #expect(try await watch.next().state == "back")
                clock.pass(.seconds(5))
            }
            let other = DeclaredMachine(text: next, directory: machine.directory, clock: clock)
            try await other.run { daemon in
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 45_000)
            }
        }
    }

    /// Though a file in between does not have it, and the stay was renewed there.
    @Test func aGroupsTimeThatHasComeDoesNotComeAgain() async throws {
        let text = """
            start: idle
            events: {touch: {}}
            groups: {g: {states: [inside, back], after: {10s: back}}}
            states: {idle: {}, inside: {}, back: {when: {touch: stay}}}
            """
        try await DeclaredMachine.with(text) { machine in
            try await machine.run { daemon in
                let watch = try daemon.connect()
                _ = try await watch.ask("watch")
                _ = try await daemon.ask("set inside")
                _ = try await watch.next()
                machine.clock.pass(.seconds(10))
                #expect(try await watch.next().state == "back")
            }
            let without = DeclaredMachine(
                text: text.replacing(", after: {10s: back}", with: ""),
                directory: machine.directory,
                clock: machine.clock
            )
            try await without.run { daemon in
                let renewed = try await daemon.ask("send touch")
                #expect(renewed.ok == true)
            }
            try await machine.run { daemon in
                let got = try await daemon.ask("get")
                #expect(!got.has("due"))
            }
        }
    }

    /// By key: what had come has come, what a field had counts, and a new time looks at what there is now.
    @Test func anotherFileKeepsWhatItHas() async throws {
        let next = Self.machine.replacing(
            "after: {20s: [keep n+=1, ignore], 22s: ignore, 60s: late}",
            with: "after: {20s: [keep n+=1, ignore], 40s: idle, 60s: late}"
        )
        try await DeclaredMachine.with(Self.machine) { machine in
            let clock = machine.clock
            try await machine.run { daemon in
                _ = try await Self.begin("kept", daemon)
            }
            let other = DeclaredMachine(text: next, directory: machine.directory, clock: clock)
            try await other.run { daemon in
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 20_000 && got.item("due")?.state == "idle")
                let watch = try daemon.connect()
                _ = try await watch.ask("watch")
                clock.pass(.seconds(20))
                #expect(try await watch.next().state == "idle")
            }
        }
    }
}
