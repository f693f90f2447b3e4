import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import StateMachineRunner
import Testing

/// What runs and when, as scripts of events and resulting actions.
struct ConductorTests {
    /// A conductor whose machine has been working since seq 1.
    private static func working() throws -> Script {
        var script = try Script()
        _ = script.agreed()
        #expect(
            script.found(1, "working", #"{"num":4,"note":"a b"}"#) == [
                "soon", "record", "begin working-run-1",
            ]
        )
        return script
    }

    @Test func theFirstStartEntersThePresentState() throws {
        var script = try Script()
        #expect(script.found(7, "idle", stay: 5) == [])
        #expect(script.agreed() == ["record", "begin idle-enter-1-5"])
        let first = Script.name("idle", .enter(1), 5)
        let second = Script.name("idle", .enter(2), 5)
        #expect(
            script.ended(first, .exit(0)) == [
                "record", "forget idle-enter-1-5", "record", "begin idle-enter-2-5",
            ]
        )
        // A failed hook changes no state.
        #expect(script.ended(second, .exit(1)) == ["record", "forget idle-enter-2-5", "record"])
        #expect(script.conductor.record.cursor == "e:7")
    }

    @Test func aStateIsLeftInOrder() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        #expect(script.change(2, "idle", from: "working") == ["stop working-run-1"])
        // It ends late; that changes nothing.
        #expect(script.ended(run, .exit(0)) == [])
        #expect(script.stopped(run) == ["forget working-run-1", "record", "begin idle-enter-1-2"])
        _ = script.ended(Script.name("idle", .enter(1), 2), .exit(0))
        _ = script.ended(Script.name("idle", .enter(2), 2), .exit(0))
        #expect(script.change(3, "broken", from: "idle") == ["record", "begin idle-leave-1-3"])
        #expect(
            script.ended(Script.name("idle", .leave(1), 3), .signal("SIGKILL")) == [
                "record", "forget idle-leave-1-3", "record", "begin broken-enter-1-3",
            ]
        )
    }

    @Test func onlyThePresentStayIsRun() throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "idle")
        _ = script.change(2, "working", #"{"num":1}"#, from: "idle")
        _ = script.change(3, "asking", from: "working")
        _ = script.change(4, "working", #"{"num":2}"#, from: "asking")
        _ = script.ended(Script.name("idle", .enter(1), 1), .exit(0))
        _ = script.ended(Script.name("idle", .enter(2), 1), .exit(0))
        let left = script.ended(Script.name("idle", .leave(1), 2), .exit(0))
        #expect(left.last == "begin working-run-4")
        #expect(script.orders.map(\.name.key) == [.enter(1), .enter(2), .leave(1), .run])
    }

    @Test func whatIsReplayedIsNotRunUntilAllIsHeard() throws {
        var script = try Self.working()
        script = try script.restarted(known: [])
        _ = script.agreed()
        #expect(script.change(2, "asking", from: "working", isReplay: true) == ["soon"])
        #expect(
            script.change(3, "working", #"{"num":9}"#, from: "asking", isReplay: true) == ["soon"]
        )
        #expect(script.caughtUp() == ["record", "begin working-run-3"])
    }

    @Test func anUpdateIsNoNewStay() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        #expect(
            script.change(2, "working", #"{"num":4,"note":"c"}"#, from: "working", stay: 1)
                == ["soon"]
        )
        _ = script.ended(run, .exit(1))
        #expect(script.woke() == ["record", "begin working-run-1 afresh"])
        // A retry gets the fields as they are by then.
        #expect(
            script.orders.map(\.words) == [["/bin/work", "4", "a b"], ["/bin/work", "4", "c"]]
        )
        #expect(script.orders[0].input == script.orders[1].input)
    }

    @Test(arguments: [
        (RunEnd.exit(0), #"tell {"exit":0} of e:1"#),
        (.exit(21), #"tell {"exit":21} of e:1"#),
    ])
    func anEndThatLeadsSomewhereIsTold(_ kind: RunEnd, _ word: String) throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        #expect(script.ended(run, kind) == ["record", word])
        #expect(script.told(.taken, stay: 1) == ["record", "forget working-run-1"])
        #expect(script.conductor.record.run?.phase == .over)
        #expect(script.change(2, "asking", from: "working") == ["soon"])
    }

    @Test(arguments: [
        (RunEnd.exit(3), #"tell {"exit":3} of e:1"#),
        (.signal("SIGSEGV"), #"tell {"signal":"SIGSEGV"} of e:1"#),
        (.timeout, #"tell {"timeout":true} of e:1"#),
    ])
    func aFailureIsTriedAgainFirst(_ kind: RunEnd, _ word: String) throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        #expect(script.ended(run, kind) == ["record", "wake 5s"])
        #expect(script.woke() == ["record", "begin working-run-1 afresh"])
        #expect(script.ended(run, kind) == ["record", "wake 10s"])
        #expect(script.woke() == ["record", "begin working-run-1 afresh"])
        #expect(script.ended(run, kind) == ["record", word])
        let attempts = script.orders.map { order in
            order.environment.last { $0.name == "STATEMACHINE_ATTEMPT" }?.value
        }
        #expect(attempts == ["1", "2", "3"])
    }

    @Test func aHookIsTriedAgainToo() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        _ = script.change(2, "broken", from: "working")
        _ = script.stopped(run)
        let alarm = Script.name("broken", .enter(1), 2)
        #expect(script.ended(alarm, .timeout) == ["record", "wake 7s"])
        #expect(script.woke() == ["record", "begin broken-enter-1-2 afresh"])
        #expect(script.ended(alarm, .exit(1)) == ["record", "forget broken-enter-1-2", "record"])
    }

    @Test func aStayThatEndsMeanwhileEndsAPause() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        _ = script.ended(run, .exit(3))
        #expect(script.change(2, "asking", from: "working") == ["forget working-run-1", "soon"])
        #expect(script.woke() == [])
        #expect(
            script.change(3, "working", #"{"num":1}"#, from: "asking") == [
                "soon", "record", "begin working-run-3",
            ]
        )
    }

    @Test func aRefusalIsTriedAgainAfterGrowingPauses() throws {
        var script = try Self.working()
        _ = script.ended(Script.name("working", .run, 1), .exit(0))
        var pauses: [String] = []
        for _ in 1...8 {
            pauses += script.told(.refused(.denied, message: "no"), stay: 1)
            #expect(script.woke() == [#"tell {"exit":0} of e:1"#])
        }
        #expect(
            pauses == [
                "wake 1s", "wake 2s", "wake 4s", "wake 8s", "wake 16s", "wake 32s", "wake 1min",
                "wake 1min",
            ]
        )
        // A new connection ends the pause.
        #expect(script.told(.lost("gone"), stay: 1) == ["wake 1min"])
        #expect(script.connected() == [])
        #expect(script.caughtUp() == [#"tell {"exit":0} of e:1"#])
        // An answer about another stay is ignored.
        #expect(script.told(.taken, stay: 9) == [])
        #expect(script.told(.late, stay: 1) == ["record", "forget working-run-1"])
    }

    @Test func anEndOfWhichNothingIsDeclaredEndsNothing() throws {
        var script = try Self.working()
        _ = script.ended(Script.name("working", .run, 1), .exit(0))
        #expect(script.told(.unhandled, stay: 1) == ["record", "forget working-run-1"])
        #expect(script.notices.contains(.unhandled(Script.name("working", .run, 1), .exit(0))))
        #expect(script.caughtUp() == [])
    }

    @Test func nothingIsBegunWhileFileAndDaemonDiffer() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        #expect(script.disagreed() == [])
        #expect(script.notices.last == .differs)
        #expect(script.disagreed() == [])
        // The run goes on, is retried later, and is stopped when its stay ends.
        #expect(script.ended(run, .exit(1)) == ["record"])
        #expect(script.agreed() == ["record", "wake 5s"])
        #expect(script.notices.filter { $0 == .differs }.count == 1)
        #expect(script.woke() == ["record", "begin working-run-1 afresh"])
        _ = script.disagreed()
        #expect(script.change(2, "idle", from: "working") == ["stop working-run-1"])
        #expect(script.stopped(run) == ["forget working-run-1"])
        #expect(script.agreed() == ["record", "begin idle-enter-1-2"])
    }

    /// Whatever an untrusted daemon says, only declared commands run, with as many words as
    /// declared.
    @Test(arguments: [
        (#"{"num":7,"note":"$(reboot); `reboot` \n' --x"}"#, "$(reboot); `reboot` \n' --x"),
        (#"{"num":7,"note":""}"#, ""), (#"{"num":7}"#, "none"),
        (#"{"num":"7; reboot"}"#, nil), (#"{"num":[7,"/bin/reboot"]}"#, nil),
        (#"{"num":7.5}"#, nil),
        (#"{"num":7,"note":["a","b"]}"#, nil), ("{}", nil), ("[]", nil),
        (#"{"num":7,"note":"a","command":"/bin/reboot","user":"root"}"#, "a"),
    ])
    func aDaemonHasOnlyDeclaredCommandsRunWithDeclaredData(data: String, note: String?) throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "working", data)
        #expect(script.orders.map(\.words) == (note.map { [["/bin/work", "7", $0]] } ?? []))
        #expect(script.orders.allSatisfy { $0.command.user == nil })
    }

    @Test func aStateThatTheFileDoesNotHaveRunsNothing() throws {
        var script = try Script()
        _ = script.agreed()
        #expect(script.found(1, "../../bin/reboot") == ["soon"])
        #expect(script.orders.isEmpty)
    }

    @Test func aFileWithoutCommandsEndsTheProcess() throws {
        var script = try Self.working()
        let none = "start: idle\nstates: {idle: {to: [working]}, working: {to: [idle]}}"
        #expect(script.agreed(none) == ["stop working-run-1"])
        #expect(
            script.stopped(Script.name("working", .run, 1)) == [
                "record", "forget working-run-1", "finish",
            ]
        )
    }

    @Test func aRunThatTheFileHasNoMoreIsStoppedAndANewOneBegun() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        let without = Script.machine.split(separator: "\n")
            .filter { line in
                ["run:", "done:", "exit:", "failed:"].allSatisfy { !line.contains($0) }
            }
            .joined(separator: "\n")
        #expect(script.agreed(without) == ["stop working-run-1"])
        #expect(script.stopped(run) == ["forget working-run-1", "record"])
        #expect(script.conductor.record.run == nil)
        #expect(script.agreed() == ["record", "begin working-run-1"])
    }

    @Test(arguments: ["lagged", "evicted"])
    func missedChangesOfTheSameStayDoNotMatter(_ resync: String) throws {
        var script = try Self.working()
        let data = #"{"num":4,"note":"z"}"#
        #expect(script.found(90, "working", data, stay: 1, resync: resync) == ["soon"])
        #expect(script.found(99, "idle", stay: 95, resync: resync) == ["stop working-run-1"])
        #expect(script.stopped(Script.name("working", .run, 1)).last == "begin idle-enter-1-95")
        #expect(script.notices.contains(.hooksUnknown(nil, from: "working", to: "idle")))
    }

    @Test func anotherNumberingIsAnotherStay() throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(0, "idle")
        _ = script.ended(Script.name("idle", .enter(1), 0), .exit(0))
        _ = script.ended(Script.name("idle", .enter(2), 0), .exit(0))
        #expect(script.found(0, "idle", resync: "restarted") == ["record", "begin idle-leave-1-0"])
        #expect(script.notices.contains(.hooksUnknown(nil, from: "idle", to: "idle")))
    }

    /// The change that a reload makes comes before the line that announces the reload.
    @Test func aRenamedStateKeepsItsRun() throws {
        var script = try Self.working()
        let data = #"{"num":4,"note":"z"}"#
        #expect(script.change(2, "toiling", data, from: "working", stay: 1) == ["soon"])
        let text = Script.machine
            .replacing("  working:\n", with: "  toiling:\n    was: working\n")
            .replacing("go: working", with: "go: toiling")
        #expect(script.agreed(text) == [])
        #expect(script.change(3, "idle", from: "toiling") == ["stop working-run-1"])
    }

    @Test func whatCannotBeStartedIsTriedAgain() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        #expect(script.failed(run, isStart: true) == ["wake 1s"])
        #expect(script.woke() == ["record", "begin working-run-1"])
        #expect(script.failed(run, isStart: false) == ["wake 2s"])
        #expect(script.woke() == ["await working-run-1"])
        // Somebody has removed its unit.
        #expect(script.ended(run, nil) == ["wake 4s"])
        #expect(script.woke() == ["record", "begin working-run-1"])
        // It may have been started nevertheless.
        _ = script.failed(run, isStart: true)
        #expect(script.change(2, "asking", from: "working") == ["stop working-run-1"])
        #expect(script.stopped(run, nil) == ["forget working-run-1", "soon"])
    }

    /// The daemon may have begun a new numbering, and the stay of that number may be another.
    @Test func nothingIsToldOrBegunBeforeTheFirstLineOfAConnection() throws {
        var script = try Self.working()
        let run = Script.name("working", .run, 1)
        _ = script.ended(run, .exit(0))
        _ = script.told(.lost("gone"), stay: 1)
        #expect(script.connected() == [])
        #expect(script.woke() == [])
        #expect(script.agreed() == [])
        #expect(
            script.found(1, "working", #"{"num":7}"#, resync: "restarted") == [
                "forget working-run-1", "soon", "record", "begin working-run-1",
            ]
        )
        script = try Self.working()
        #expect(script.ended(run, .exit(3)) == ["record", "wake 5s"])
        #expect(script.connected() == [])
        #expect(script.woke() == [])
        #expect(script.caughtUp() == ["record", "begin working-run-1 afresh"])
    }

    @Test func aStayIsNamedWithItsNumbering() throws {
        var script = try Script()
        _ = script.agreed()
        // It has been updated since it began.
        _ = script.found(9, "working", #"{"num":4}"#, stay: 5)
        let run = Script.name("working", .run, 5)
        #expect(script.ended(run, .exit(0)) == ["record", #"tell {"exit":0} of e:5"#])
        let variables = script.orders[0].environment
        #expect(variables.last { $0.name == "STATEMACHINE_STAY_CURSOR" }?.value == "e:5")
    }

    /// The machine with other hooks on entering `idle`.
    private static func hooked(_ hooks: String) -> String {
        Script.machine.replacing("[[/bin/first], [/bin/second]]", with: hooks)
    }

    @Test(arguments: [
        "[[/bin/second]]", "[[/bin/zero], [/bin/first], [/bin/second]]", "[[/bin/other]]", "[]",
    ])
    func hooksAreThoseOfTheFileThatWasInForceWhenTheChangeCame(_ hooks: String) throws {
        for isRestarted in [false, true] {
            var script = try Script()
            _ = script.agreed()
            _ = script.found(1, "idle")
            let first = Script.name("idle", .enter(1), 1)
            if isRestarted {
                script = try script.restarted(Self.hooked(hooks), known: [first])
                #expect(script.caughtUp() == ["await idle-enter-1-1"])
            }
            _ = script.agreed(Self.hooked(hooks))
            _ = script.ended(first, .exit(0))
            #expect(script.orders.last?.words == ["/bin/second"])
            _ = script.ended(Script.name("idle", .enter(2), 1), .exit(0))
            #expect(script.orders.count == (isRestarted ? 1 : 2))
        }
    }

    @Test func aChangeThatWaitsKeepsTheFileThatItCameUnder() throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "asking")
        _ = script.change(2, "broken", from: "asking")
        // It came before the reload, and that one after it.
        _ = script.change(3, "idle", from: "broken")
        _ = script.agreed(Self.hooked("[[/bin/other]]"))
        _ = script.change(4, "asking", from: "idle")
        _ = script.change(5, "idle", from: "asking")
        _ = script.ended(Script.name("broken", .enter(1), 2), .exit(0))
        var said: [[String]] = []
        while let order = script.orders.last, said.count < 9 {
            said.append(order.words)
            let count = script.orders.count
            _ = script.ended(order.name, .exit(0))
            guard script.orders.count > count else { break }
        }
        #expect(said == [["/bin/first"], ["/bin/second"], ["/bin/third"], ["/bin/other"]])
    }

    @Test func hooksOfChangesBeforeAFileWithoutCommandsAreRun() throws {
        var script = try Script()
        _ = script.agreed()
        _ = script.found(1, "idle")
        let none = "start: idle\nstates: {idle: {to: [working]}, working: {to: [idle]}}"
        #expect(script.agreed(none) == [])
        _ = script.ended(Script.name("idle", .enter(1), 1), .exit(0))
        let second = script.ended(Script.name("idle", .enter(2), 1), .exit(0))
        #expect(second.last == "finish")
    }

    /// A run that ends well is begun again, and pauses grow until one has lasted.
    @Test func whatIsBegunAgainWheneverItEndsTellsNothing() throws {
        let text = """
            machine: toy
            start: on
            states:
              on: {run: {command: /bin/work, restart: always, retry: {wait: 5s, factor: 2}}, final: true}
            """
        var script = try Script(text)
        _ = script.agreed()
        _ = script.found(1, "on")
        let run = Script.name("on", .run, 1)
        #expect(script.ended(run, .exit(0)) == ["record", "wake 5s"])
        #expect(script.woke() == ["record", "begin on-run-1 afresh", "wake 1min"])
        #expect(script.ended(run, .signal("SIGSEGV")) == ["record", "wake 10s"])
        #expect(script.woke() == ["record", "begin on-run-1 afresh", "wake 1min"])
        #expect(script.woke() == ["record"])
        #expect(script.ended(run, .exit(1)) == ["record", "wake 5s"])
    }
}
