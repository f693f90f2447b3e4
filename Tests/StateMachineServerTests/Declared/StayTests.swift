import StateMachineCore
import StateMachineSQLite
import TestSupport
import Testing

/// Stays and deadlines of declared machines, with clocks that the test advances.
@Suite(.bounded) struct StayTests {
    private static let oven = """
        machine: oven
        start: cold
        events: {bake: {}, baste: {}}
        states:
          cold: {when: {bake: baking}}
          baking:
            fields: {degrees: {type: integer, default: 180}}
            when: {baste: stay, bake: again}
            after: {1h: done}
          done: {when: {bake: baking}}
        """

    @Test func aDeadlineComesWhenItsTimeIsUpAndNotBefore() async throws {
        try await DeclaredDaemon.run(Self.oven) { daemon in
            let watch = try daemon.connect()
            _ = try await watch.ask("watch")
            let client = try daemon.connect()
            let begun = try await client.ask("send bake")
            #expect(begun.int("stay") == 1)
            #expect(begun.item("due")?.string("at") == "2026-11-20T13:00:00.000000Z")
            #expect(try await watch.next().seq == 1)
            daemon.clock.pass(.seconds(3599))
            try await daemon.heardTheClock()
            let close = try await client.ask("get")
            #expect(close.seq == 1 && close.leftMs == 1000)
            daemon.clock.pass(.seconds(1))
            let done = try await watch.next()
            #expect(done.state == "done" && done.seq == 2)
            #expect(done.string("cause") == "after 1h")
            #expect(!done.has("by") && !done.has("due"))
        }
    }

    /// The stamps are the real clock's, and the ages are told apart from them here by what is added to the clocks.
    @Test func agesAreCountedByAClockThatNobodySets() async throws {
        let clock = ManualStayClock(wall: .now)
        try await DeclaredDaemon.run(Self.oven, clock: clock) { daemon in
            let client = try daemon.connect()
            let beginning = try await client.ask("get")
            #expect(beginning.has("ageMs") && beginning.has("stayMs"))
            _ = try await client.ask("send bake")
            clock.pass(.seconds(600))
            clock.setWall(by: .seconds(86_400))
            let got = try await client.ask("get")
            let age = try #require(got.int("ageMs"))
            // The clock stood still meanwhile.
            #expect((540_000...600_000).contains(age) && got.int("stayMs") == age, "\(got)")
        }
    }

    @Test func onlyASetOrAnEventBeginsAStay() async throws {
        try await DeclaredDaemon.run(Self.oven) { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send bake")
            daemon.clock.pass(.seconds(600))
            let updated = try await client.ask("update degrees=200")
            #expect(updated.int("stay") == 1 && updated.seq == 2)
            #expect(try await client.ask("get").leftMs == 3_000_000)
            let again = try await client.ask("send bake")
            #expect(again.int("stay") == 3)
            #expect(try await client.ask("get").leftMs == 3_600_000)
            daemon.clock.pass(.seconds(600))
            let set = try await client.ask("set baking degrees=90")
            #expect(set.int("stay") == 4)
            #expect(try await client.ask("get").leftMs == 3_600_000)
        }
    }

    @Test func theWallsClockDoesNotMatterWithinAStartOfTheMachine() async throws {
        try await DeclaredMachine.with(Self.oven) { oven in
            let clock = oven.clock
            try await oven.run { daemon in
                let client = try daemon.connect()
                _ = try await client.ask("send bake")
                clock.setWall(by: .seconds(86_400))
                try await daemon.heardTheClock()
                let later = try await client.ask("get")
                #expect(later.seq == 1 && later.leftMs == 3_600_000)
                #expect(later.item("due")?.string("at") == "2026-11-21T13:00:00.000000Z")
                clock.setWall(by: .seconds(-2 * 86_400))
                try await daemon.heardTheClock()
                #expect(try await client.ask("get").leftMs == 3_600_000)
            }
            // The wall clock is set while there is no daemon.
            clock.pass(.seconds(60))
            clock.setWall(by: .seconds(5 * 86_400))
            try await oven.run { daemon in
                let watch = try daemon.connect()
                _ = try await watch.ask("watch")
                let got = try await daemon.ask("get")
                #expect(got.seq == 1 && got.leftMs == 3_540_000)
                #expect(got.item("due")?.string("at") == "2026-11-24T13:00:00.000000Z")
                clock.pass(.seconds(3540))
                #expect(try await watch.next().state == "done")
            }
        }
    }

    @Test func fromOneStartOfTheMachineToTheNextTheWallsClockCounts() async throws {
        try await DeclaredMachine.with(Self.oven) { oven in
            let first = oven.clock
            try await oven.run { daemon in
                _ = try await daemon.ask("send bake")
            }
            let wall = first.moment.wall.microseconds
            let back = try leftovers(of: oven.state)
            let later = ManualStayClock(
                uptime: .seconds(9),
                wall: WallTime(microseconds: wall + 1_800_000_000)
            )
            try await oven.run(boot: "2", clock: later) {
                let got = try await $0.ask("get")
                #expect(got.int("stay") == 1 && got.leftMs == 1_800_000)
            }
            later.pass(.seconds(60))
            try await oven.run(boot: "2", clock: later) {
                let got = try await $0.ask("get")
                #expect(got.leftMs == 1_740_000)
            }
            // The clock has lost the time: nothing seems to have passed, and another start in the
            // same boot does not ask it again.
            let lost = ManualStayClock(uptime: .seconds(9), wall: WallTime(microseconds: 0))
            try await oven.run(boot: "2", clock: lost, from: back) { daemon in
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 3_600_000)
                lost.pass(.seconds(60))
                #expect(try await daemon.ask("get").leftMs == 3_540_000)
            }
            try await oven.run(boot: "2", clock: lost, from: back) { daemon in
                #expect(try await daemon.ask("get").leftMs == 3_540_000)
                // The clock is corrected: ten minutes more have passed than it had seemed.
                lost.setWall(by: .microseconds(wall) + .seconds(600))
                try await daemon.heardTheClock()
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 3_600_000 - 660_000)
                #expect(got.item("due")?.string("at") == "2026-11-20T13:00:00.000000Z")
                // It goes wrong once more, and is not believed.
                lost.setWall(by: .seconds(-500))
                try await daemon.heardTheClock()
                #expect(try await daemon.ask("get").leftMs == 3_600_000 - 660_000)
            }
        }
    }

    @Test func aClockThatIsSetForwardAfterABootMayBringTheDeadlineAtOnce() async throws {
        try await DeclaredMachine.with(Self.oven) { oven in
            let first = oven.clock
            try await oven.run { daemon in
                _ = try await daemon.ask("send bake")
            }
            let lost = ManualStayClock(uptime: .seconds(9), wall: WallTime(microseconds: 0))
            try await oven.run(boot: "2", clock: lost) { daemon in
                let watch = try daemon.connect()
                #expect(try await watch.ask("watch").state == "baking")
                lost.setWall(by: .microseconds(first.moment.wall.microseconds) + .seconds(7200))
                #expect(try await watch.next().state == "done")
            }
        }
    }

    @Test func whatIsOverdueAtTheStartComesOnceAndNoChainOfIt() async throws {
        let machine = """
            start: tick
            states:
              tick: {after: {1min: tock}}
              tock: {after: {1min: tick}}
            """
        try await DeclaredMachine.with(machine) { declared in
            let clock = declared.clock
            try await declared.run { daemon in
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 60_000)
            }
            clock.pass(.seconds(600))
            try await declared.run { daemon in
                let wait = try daemon.connect()
                let moved = try await wait.ask(#"{"op":"wait","until":["tock"]}"#)
                #expect(moved.seq == 1)
                let got = try await daemon.ask("get")
                #expect(got.state == "tock" && got.seq == 1 && got.leftMs == 60_000)
            }
        }
    }

    @Test func aDeadlineThatBeganAnewOutlivesACrashASecondLater() async throws {
        try await DeclaredMachine.with(Self.oven) { oven in
            let clock = oven.clock
            try await oven.run { daemon in
                let client = try daemon.connect()
                _ = try await client.ask("send bake")
                clock.pass(.seconds(600))
                for _ in 0..<100 {
                    let basted = try await client.ask("send baste")
                    #expect(basted.bool("changed") == false)
                    #expect(basted.item("due")?.string("at") == "2026-11-20T13:10:00.000000Z")
                }
                clock.pass(.seconds(1))
                // A later commit also writes what had to be noted before it.
                _ = try await client.ask("update degrees=150")
                let crashed = try leftovers(of: oven.state)
                clock.pass(.seconds(9))
                try await oven.run(from: crashed) { again in
                    let got = try await again.ask("get")
                    #expect(got.seq == 2 && got.int("stay") == 1)
                    #expect(got.leftMs == 3_590_000)
                }
                let ended = try await client.ask("send baste")
                #expect(ended.seq == 2)
            }
            // A stop does not wait for the rest of a second.
            try await oven.run { daemon in
                let got = try await daemon.ask("get")
                #expect(got.leftMs == 3_600_000)
            }
        }
    }

    @Test func aDeadlineThatBeginsAnewAtItsTurnDoesNotCome() async throws {
        try await DeclaredDaemon.run(Self.oven) { daemon in
            let client = try daemon.connect()
            _ = try await client.ask("send bake")
            daemon.clock.pass(.seconds(3599))
            _ = try await client.ask("send baste")
            daemon.clock.pass(.seconds(3599))
            try await daemon.heardTheClock()
            let got = try await client.ask("get")
            #expect(got.seq == 1 && got.leftMs == 1000)
        }
    }

    @Test func whatIsReplayedIsWhatWasSaid() async throws {
        try await DeclaredMachine.with(Self.oven) { oven in
            let clock = oven.clock
            let live = Recorder<String>()
            try await oven.run { daemon in
                let watch = try daemon.connect()
                _ = try await watch.ask("watch")
                let client = try daemon.connect()
                // In one burst, so that everything is committed together.
                try client.send(
                    """
                    send bake
                    update degrees=200
                    send baste
                    update degrees=210
                    set baking degrees=50
                    send bake
                    """
                )
                clock.pass(.seconds(1))
                for _ in 0..<6 { _ = try await client.next() }
                for _ in 0..<5 { live.record(try await watch.next().description) }
                clock.pass(.seconds(3600))
                live.record(try await watch.next().description)
            }
            try await oven.run { daemon in
                let reader = try daemon.connect()
                try reader.send("history")
                for line in live.heard {
                    let told = try await reader.next().description
                    #expect(told.replacing(#","replay":true"#, with: "") == line)
                }
                let wait = try daemon.connect()
                #expect(try await reader.next().int("count") == 6)
                let cursor = try #require(try await reader.ask("get").string("cursor"))
                let epoch = cursor.prefix { $0 != ":" }
                let met = try await wait.ask(
                    #"{"op":"wait","until":["baking"],"since":"\#(epoch):1"}"#
                )
                #expect(met.seq == 2 && met.int("stay") == 1)
                #expect(met.item("due")?.state == "done")
            }
        }
    }

    /// As they were when the state was entered.
    @Test func theSpellingOfValuesIsKeptOnTheDisk() async throws {
        let machine = """
            start: idle
            states:
              idle: {}
              obj: {fields: {o: object, x: {type: number, default: 1}}}
            """
        let (first, later) = (#"{"o":{"a":1,"b":2},"x":1}"#, #"{"o":{"b":2,"a":1.0},"x":1.00}"#)
        try await DeclaredMachine.with(machine) { declared in
            try await declared.run { daemon in
                let client = try daemon.connect()
                for data in [first, later] {
                    let entered = try await client.ask(
                        #"{"op":"set","state":"obj","data":\#(data)}"#
                    )
                    #expect(entered.description.contains(#""data":\#(first)"#))
                }
                _ = try await client.ask("set idle")
                _ = try await client.ask(#"{"op":"set","state":"obj","data":\#(later)}"#)
            }
            try await declared.run { daemon in
                let client = try daemon.connect()
                try client.send("history")
                for data in [first, "{}", later] {
                    let line = try await client.next()
                    #expect(line.description.contains(#""data":\#(data)"#), "\(line)")
                }
            }
        }
    }

    /// One letter, and a letter with a mark: equal as Unicode has it, and other bytes.
    @Test func aTextIsFoundByItsOwnSpellingAlone() async throws {
        let machine = "start: note\nstates: {note: {fields: {text: {type: string, default: a}}}}\n"
        try await DeclaredDaemon.run(machine) { daemon in
            let client = try daemon.connect()
            for (index, text) in ["\u{E9}", "e\u{301}", "\u{E9}"].enumerated() {
                let reply = try await client.ask(
                    #"{"op":"set","state":"note","data":{"text":"\#(text)"}}"#
                )
                #expect(reply.seq == index + 1)
                let got = try await client.ask("get").item("data")?.string("text")
                #expect(got?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
            }
        }
    }

    /// A snapshot of a computer, or a time namespace, has the boot's ID and less uptime.
    @Test func aBootThatIsYoungerThanThePastIsAnotherOne() async throws {
        let machine = "start: idle\nstates: {idle: {}, busy: {after: {2s: idle}}}\n"
        try await DeclaredMachine.with(machine, clock: ManualStayClock(uptime: .seconds(5000))) {
            declared in
            let clock = declared.clock
            try await declared.run { daemon in
                let entered = try await daemon.ask("set busy")
                #expect(entered.seq == 1)
                clock.pass(.seconds(1))
            }
            let young = ManualStayClock(uptime: .seconds(10), wall: clock.moment.wall)
            try await declared.run(clock: young) { daemon in
                let watch = try daemon.connect()
                #expect(try await watch.ask("watch").state == "busy")
                #expect(try await daemon.ask("get").leftMs == 1000)
                young.pass(.seconds(1))
                #expect(try await watch.next().state == "idle")
            }
        }
    }

    @Test func anEndOfARunThatIsSentByTwoIsTakenOnce() async throws {
        let machine = """
            start: installing
            moves: {most: 1000, in: 1h}
            states:
              installing: {run: /bin/install, exit: {21: installing}, to: [installing]}
            """
        try await DeclaredMachine.with(machine) { declared in
            try await declared.run { daemon in
                let clients = [try daemon.connect(), try daemon.connect()]
                for _ in 1...50 {
                    let begun = try await clients[0].ask(
                        #"{"op":"set","state":"installing","reenter":true}"#
                    )
                    let stay = try #require(begun.seq)
                    let end =
                        #"{"op":"send","event":"run.ended","data":{"exit":21},"ifStay":\#(stay)}"#
                    // Each client sends it twice before reading; it leads to the same state, where
                    // it would apply again.
                    for client in clients + clients {
                        try client.send(end)
                    }
                    var answers: [JSONLine] = []
                    for client in clients + clients { answers.append(try await client.next()) }
                    #expect(answers.count { $0.bool("changed") == true } == 1, "\(answers)")
                    #expect(answers.count { $0.error == "conflict" } == 3, "\(answers)")
                    #expect(try await clients[1].ask("get").seq == stay + 1)
                }
            }
        }
    }

    /// Neither as no JSON nor as two lines; what has come to be there keeps no daemon from starting.
    @Test(arguments: [
        #"{"state":"idle","data":{},"at":01}"#, #"{"state":"idle"#, "{\"state\":\"\n\"}", "[]",
        #"{"state":"idle","data":{},"at":"2026-11-20T21:56:05.120007Z","at":1}"#, "x",
    ])
    func aDamagedDueIsNotSent(due: String) async throws {
        let machine = """
            start: idle
            to: [idle, waiting]
            states: {idle: {}, waiting: {after: {1h: idle}}}
            """
        try await DeclaredMachine.with(machine) { declared in
            try await declared.run { daemon in
                for state in ["waiting", "idle", "waiting"] {
                    let entered = try await daemon.ask("set \(state)")
                    #expect(entered.ok == true)
                }
            }
            try await DeclaredDaemon.awaitRelease(of: declared.state)
            let disk = try Database("\(declared.state)/statemachine.sqlite", timeout: .seconds(10))
            try disk.run("UPDATE change SET due = ? WHERE seq IN (1, 3)", due)
            try await declared.run { daemon in
                let got = try await daemon.ask("get")
                #expect(got.seq == 3 && got.leftMs == 3_600_000, "\(got)")
                let client = try daemon.connect()
                try client.send("history")
                let damaged = try await client.next()
                #expect(damaged.type == "reply" && damaged.error == "internal", "\(damaged)")
                try client.send(#"{"op":"history","after":1}"#)
                let (changes, end) = try await client.changes()
                #expect(changes.map(\.seq) == [2] && end.error == "internal", "\(changes) \(end)")
            }
        }
    }
}
