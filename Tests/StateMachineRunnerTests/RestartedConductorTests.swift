import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import StateMachineRunner
import Testing

/// What happens when the process, or the computer, has ended and starts again.
struct RestartedConductorTests {
    private static let run = Script.name("working", .run, 1)

    private static func working(outlives: Bool = true) throws -> Script {
        var script = try Script(outlives: outlives)
        _ = script.agreed()
        _ = script.found(1, "working", #"{"num":4}"#)
        return script
    }

    @Test func whatRunsIsFoundAgain() throws {
        var script = try Self.working().restarted(known: [Self.run])
        #expect(script.conductor.record.since == "e:1")
        // Before the file and the daemon's declaration are compared.
        #expect(script.caughtUp() == ["await working-run-1"])
        #expect(script.agreed() == [])
        #expect(script.ended(Self.run, .exit(0)) == ["record", #"tell {"exit":0} of e:1"#])
    }

    @Test func whatIsGoneWithoutAStopIsBegunAgain() throws {
        var script = try Self.working().restarted()
        _ = script.caughtUp()
        #expect(script.agreed() == ["record", "begin working-run-1"])
        #expect(script.conductor.record.run?.progress == RunProgress())
    }

    /// After three in a row the next one is a failure like any other: it is retried, and then has failed.
    @Test(arguments: [true, false])
    func whatEndedWithTheMachineOrThisProcessWasInterrupted(outlives: Bool) throws {
        var script = try Self.working(outlives: outlives)
        var boot = 1
        func restarted() throws -> [String] {
            boot += 1
            script.pass(30)
            script = try script.restarted(
                boot: outlives ? "b\(boot)" : "b1",
                outlives: outlives
            )
            _ = script.caughtUp()
            return script.agreed()
        }
        for pause in ["wake 5s", "wake 10s"] {
            for row in 1...3 {
                #expect(try restarted() == ["record", "begin working-run-1", "wake 1min"])
                #expect(script.conductor.record.run?.progress.interruptions == row)
                #expect(script.notices.contains { $0.row == row })
            }
            #expect(try restarted() == ["record", pause])
            #expect(script.notices.contains { $0.row == 4 })
            #expect(script.woke() == ["record", "begin working-run-1"])
        }
        for _ in 1...3 { _ = try restarted() }
        #expect(try restarted() == ["record", #"tell {"interrupted":true} of e:1"#])
    }

    /// However the attempt ends, and even if this process is killed and cannot know how long it went on.
    @Test func anAttemptThatHasLastedBeginsTheRowAgain() throws {
        var script = try Self.working(outlives: false)
        for _ in 1...9 {
            script = try script.restarted(outlives: false)
            _ = script.caughtUp()
            #expect(script.agreed() == ["record", "begin working-run-1", "wake 1min"])
            #expect(script.conductor.record.run?.progress.interruptions == 1)
            script.pass(60)
            #expect(script.woke() == ["record"])
            #expect(script.conductor.record.run?.progress.interruptions == 0)
            // An alarm of before is none.
            #expect(script.woke() == [])
        }
    }

    @Test func howLongAnAttemptHasLastedIsKeptOverARestart() throws {
        var script = try Self.working()
        script = try script.restarted(boot: "b2")
        _ = script.caughtUp()
        #expect(script.agreed() == ["record", "begin working-run-1", "wake 1min"])
        script.pass(20, setting: -86_400)
        script = try script.restarted(known: [Self.run], boot: "b2")
        _ = script.agreed()
        #expect(script.caughtUp() == ["await working-run-1", "wake 40s"])
    }

    @Test func aStopStopsWhatRunsAndTheNextStartGoesOn() throws {
        var script = try Self.working()
        #expect(script.end(.stop) == ["stop working-run-1"])
        #expect(script.end(.stop) == [])
        #expect(script.stopped(Self.run) == ["record", "forget working-run-1", "finish"])
        script = try script.restarted()
        _ = script.agreed()
        #expect(script.caughtUp() == ["record", "begin working-run-1", "wake 1min"])
        #expect(script.conductor.record.run?.progress.interruptions == 1)
    }

    @Test func whatWasOverBeforeTheStopIsTold() throws {
        var script = try Self.working()
        _ = script.end(.stop)
        #expect(
            script.stopped(Self.run, .exit(21)) == ["record", "forget working-run-1", "finish"]
        )
        script = try script.restarted()
        _ = script.agreed()
        #expect(script.caughtUp() == ["record", #"tell {"exit":21} of e:1"#])
    }

    /// The previous process began it, and this one has not begun to wait for it.
    @Test func whatRunsIsStoppedForAChangeThatWasMadeMeanwhile() throws {
        var script = try Self.working().restarted(known: [Self.run])
        _ = script.agreed()
        #expect(script.change(2, "idle", from: "working", isReplay: true) == ["stop working-run-1"])
        #expect(
            script.stopped(Self.run) == ["forget working-run-1", "record", "begin idle-enter-1-2"]
        )
    }

    @Test func whatRunsIsStoppedByAStopThatComesAtOnce() throws {
        var script = try Self.working().restarted(known: [Self.run])
        #expect(script.end(.stop) == ["stop working-run-1"])
        #expect(script.stopped(Self.run) == ["record", "forget working-run-1", "finish"])
        script = try Self.working().restarted(known: [Self.run])
        #expect(script.end(.leave) == ["record", "finish"])
    }

    @Test func whatIsNotToBeAskedAboutIsStoppedAllTheSame() throws {
        var script = try Self.working()
        #expect(script.failed(Self.run, isStart: false) == ["wake 1s"])
        #expect(script.change(2, "idle", from: "working") == ["stop working-run-1"])
    }

    @Test func aHookOfTheProcessBeforeIsStoppedByAStopThatComesAtOnce() throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "idle")
        let first = Script.name("idle", .enter(1), 1)
        script = try script.restarted(known: [first])
        #expect(script.end(.stop) == ["stop idle-enter-1-1"])
    }

    @Test func whatIsLeftGoesOn() throws {
        var script = try Self.working()
        #expect(script.end(.leave) == ["record", "finish"])
        // Children do not go on.
        script = try Self.working(outlives: false)
        #expect(script.end(.leave) == ["stop working-run-1"])
    }

    @Test func aHookThatWasStoppedIsRunAgain() throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "idle")
        let (first, second) = (Script.name("idle", .enter(1), 1), Script.name("idle", .enter(2), 1))
        _ = script.ended(first, .exit(0))
        #expect(script.end(.stop) == ["stop idle-enter-2-1"])
        #expect(
            script.stopped(second, .interrupted) == ["forget idle-enter-2-1", "record", "finish"]
        )
        script = try script.restarted()
        #expect(script.conductor.record.since == "e:1")
        #expect(script.agreed() == ["record", "begin idle-enter-2-1"])
    }

    @Test func aHookIsFoundAgainOrBegunAgain() throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "idle")
        let first = Script.name("idle", .enter(1), 1)
        var found = try script.restarted(known: [first])
        #expect(found.caughtUp() == ["await idle-enter-1-1"])
        var gone = try script.restarted()
        #expect(gone.agreed() == ["record", "begin idle-enter-1-1"])
    }

    @Test func aPauseOutlivesTheProcess() throws {
        var script = try Self.working()
        _ = script.ended(Self.run, .exit(3))
        script.pass(2)
        script = try script.restarted(known: [Self.run])
        _ = script.agreed()
        #expect(script.caughtUp() == ["wake 3s"])
        #expect(script.woke() == ["record", "begin working-run-1 afresh"])
    }

    /// Within a boot the uptime counts, and over a reboot the clock; it is never longer than it was.
    @Test(arguments: [
        ("b1", -86_400, "wake 3s"), ("b1", 86_400, "wake 3s"), ("b2", 0, "wake 3s"),
        ("b2", -86_400, "wake 5s"), ("b2", 86_400, "wake 0s"),
    ])
    func aPauseGoesByTheTimeThatHasPassed(_ boot: String, _ setting: Int64, _ left: String) throws {
        var script = try Self.working()
        _ = script.ended(Self.run, .exit(3))
        script.pass(2, setting: setting)
        if boot == "b2" { script.now = StayMoment(uptime: 7_000_000, wall: script.now.wall) }
        script = try script.restarted(boot: boot)
        _ = script.agreed()
        #expect(script.caughtUp() == [left])
        // Those of a hook as well.
        script = try Script()
        _ = script.agreed()
        _ = script.found(1, "broken")
        #expect(script.ended(Script.name("broken", .enter(1), 1), .exit(1)).last == "wake 7s")
        script.pass(4, setting: setting)
        if boot == "b2" { script.now = StayMoment(uptime: 7_000_000, wall: script.now.wall) }
        script = try script.restarted(boot: boot)
        #expect(script.agreed() == [left == "wake 5s" ? "wake 7s" : left])
    }

    @Test func aRecordOfAnOlderRunnerIsRead() throws {
        var script = try Self.working()
        _ = script.ended(Self.run, .exit(3))
        script.pass(1)
        script = try script.restarted { text in
            text.replacing(#/,"(pause|pauseUptime|sinceUptime)":[0-9]+/#, with: "")
        }
        _ = script.agreed()
        #expect(script.caughtUp() == ["wake 4s"])
    }

    @Test func whatSomebodyElseStoppedIsDecidedWhenThisProcessIsNotStoppedToo() throws {
        var script = try Self.working()
        #expect(script.ended(Self.run, .interrupted) == ["record", "wake 5s"])
        var ending = script
        #expect(ending.end(.stop) == ["record", "forget working-run-1", "finish"])
        #expect(script.woke() == ["record", "begin working-run-1 afresh", "wake 1min"])
        #expect(script.conductor.record.run?.progress.interruptions == 1)
    }

    @Test func whatNobodyKnowsOfIsAStray() throws {
        let script = try Self.working().restarted(known: [Self.run])
        let other = Script.name("idle", .enter(1), 0)
        #expect(script.conductor.strays(among: [Self.run, other]) == [other])
    }

    @Test func aRecordIsReadAsItWasWritten() throws {
        let json = try Self.working().conductor.record.json(of: Script.label)
        let other = MachineLabel(machine: "other", instance: nil, directory: "/run/statemachine")
        #expect(Record.read(json, of: other).record == nil)
        let read = Record.read(json, of: Script.label)
        let expected = try Self.working().conductor.record
        #expect(read.damage == [] && read.record == expected)
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "idle")
        let hooks = Record.read(script.conductor.record.json(of: Script.label), of: Script.label)
        #expect(hooks.damage == [] && hooks.record == script.conductor.record)
    }

    /// What runs by then may have been begun, which the record does not say: it was interrupted.
    @Test(arguments: [
        ("format", #"{"format":9,"machine":"toy","boot":"b1"}"#), ("format", "null"),
        ("format", "[]"),
        ("format", "{}"),
        ("stay", #"{"format":1,"machine":"toy","boot":"b1","cursor":"e:1","stay":{"number":-1}}"#),
    ])
    func aRecordThatCannotBeReadIsNoEmptyOne(_ part: String, _ text: String) throws {
        let json = try #require(JSONValue(parsing: text))
        let (record, damage) = Record.read(json, of: Script.label)
        #expect(damage == [part] && record != nil)
        let machine = Script.machine.replacing("stop: 3s", with: "interrupted: broken")
        for isRestarted in [false, true] {
            var script = try Script(machine, record: record)
            // It was not known before the process ended once more.
            if isRestarted { script = try script.restarted(machine) }
            #expect(script.conductor.record.since == nil)
            _ = script.agreed()
            #expect(
                script.found(1, "working", #"{"num":4}"#)
                    == ["soon", "record", #"tell {"interrupted":true} of e:1"#]
            )
            #expect(script.told(.taken, stay: 1).first == "record")
        }
    }

    @Test func aPhaseThatIsNotKnownIsNoStayWithoutARun() throws {
        func later(_ text: String) -> String { text.replacing(#""running""#, with: #""dreaming""#) }
        let json = try #require(
            JSONValue(
                parsing: later(Self.working().conductor.record.json(of: Script.label).description)
            )
        )
        #expect(Record.read(json, of: Script.label).damage == ["run"])
        // What is there is waited for.
        var script = try Self.working().restarted(known: [Self.run], edited: later)
        #expect(script.caughtUp() == ["await working-run-1"])
        // What is not there was interrupted.
        script = try Self.working().restarted(edited: later)
        _ = script.caughtUp()
        #expect(script.agreed() == ["record", "begin working-run-1", "wake 1min"])
        #expect(script.conductor.record.run?.progress.interruptions == 1)
    }

    @Test func hooksThatCannotBeReadComeAgain() throws {
        var script = try Self.working()
        _ = script.change(2, "idle", from: "working")
        _ = script.stopped(Self.run)
        script = try script.restarted {
            $0.replacing(#""hooks":{"line":"#, with: #""hooks":{"l":"#)
        }
        #expect(script.conductor.record.since == "e:1")
        _ = script.agreed()
        #expect(
            script.change(2, "idle", from: "working", isReplay: true)
                == ["record", "begin idle-enter-1-2"]
        )
    }
}

extension Notice {
    /// How many interruptions in a row it tells of; nil if it tells of something else.
    fileprivate var row: Int? {
        if case .interruptions(_, let count, _, _) = self { count } else { nil }
    }
}
