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
        #expect(script.ended(Self.run, .exit(0)) == ["record", #"tell {"exit":0} of 1"#])
    }

    @Test func whatIsGoneWithoutAStopIsBegunAgain() throws {
        var script = try Self.working().restarted()
        _ = script.caughtUp()
        #expect(script.agreed() == ["record", "begin working-run-1"])
        #expect(script.conductor.record.run?.progress == RunProgress())
    }

    @Test(arguments: [true, false])
    func whatEndedWithTheMachineOrThisProcessWasInterrupted(outlives: Bool) throws {
        var script = try Self.working(outlives: outlives)
        for interruptions in 1...3 {
            script = try script.restarted(
                boot: outlives ? "b\(interruptions + 1)" : "b1",
                outlives: outlives
            )
            _ = script.caughtUp()
            #expect(script.agreed() == ["record", "begin working-run-1"])
            #expect(script.conductor.record.run?.progress.interruptions == interruptions)
        }
        script = try script.restarted(boot: outlives ? "b9" : "b1", outlives: outlives)
        _ = script.caughtUp()
        #expect(script.agreed() == ["record", #"tell {"interrupted":true} of 1"#])
    }

    @Test func aStopStopsWhatRunsAndTheNextStartGoesOn() throws {
        var script = try Self.working()
        #expect(script.end(.stop) == ["stop working-run-1"])
        #expect(script.end(.stop) == [])
        #expect(script.stopped(Self.run) == ["record", "forget working-run-1", "finish"])
        script = try script.restarted()
        _ = script.agreed()
        #expect(script.caughtUp() == ["record", "begin working-run-1"])
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
        #expect(script.caughtUp() == ["record", #"tell {"exit":21} of 1"#])
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
        script.now = WallTime(microseconds: script.now.microseconds + 2_000_000)
        script = try script.restarted(known: [Self.run])
        _ = script.agreed()
        #expect(script.caughtUp() == ["wake 3s"])
        #expect(script.woke() == ["record", "begin working-run-1 afresh"])
        // If the clock is set back, the pause is at most the longest one.
        script = try Self.working()
        _ = script.ended(Self.run, .exit(3))
        script.now = WallTime(microseconds: 0)
        script = try script.restarted()
        _ = script.agreed()
        #expect(script.caughtUp() == ["wake 5min"])
    }

    @Test func whatSomebodyElseStoppedIsDecidedWhenThisProcessIsNotStoppedToo() throws {
        var script = try Self.working()
        #expect(script.ended(Self.run, .interrupted) == ["record", "wake 5s"])
        var ending = script
        #expect(ending.end(.stop) == ["record", "forget working-run-1", "finish"])
        #expect(script.woke() == ["record", "begin working-run-1 afresh"])
        #expect(script.conductor.record.run?.progress.interruptions == 1)
    }

    @Test func whatNobodyKnowsOfIsAStray() throws {
        let script = try Self.working().restarted(known: [Self.run])
        let other = Script.name("idle", .enter(1), 0)
        #expect(script.conductor.strays(among: [Self.run, other]) == [other])
    }

    @Test func anOldFormAndAnotherMachineAreNoRecord() throws {
        let json = try Self.working().conductor.record.json(of: Script.label)
        #expect(
            Record(
                json,
                of: MachineLabel(machine: "other", instance: nil, directory: "/run/statemachine")
            ) == nil
        )
        #expect(Record(["format": 9, "machine": "toy", "boot": "b"], of: Script.label) == nil)
        #expect(try #require(Record(json, of: Script.label)) == Self.working().conductor.record)
    }
}
