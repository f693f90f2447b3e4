import StateMachineCore
import StateMachineDeclaration
import Testing

@Suite struct TraceTests {
    private static let machine = """
        start: idle
        to: []
        moves: {most: 4, in: 1min}
        events: {go: {n: {type: integer, optional: true}}, stay-here: {}, circle: {}}
        states:
          idle:
            fields: {n: {type: integer, default: 0}}
            when: {go: busy, circle: left}
            to: [idle, left]
          busy:
            fields: {n: integer}
            run: {command: /bin/a, timeout: 10s, retry: {times: 2, wait: 1min}}
            done: idle n=1
            failed: idle n=2
            when: {stay-here: stay}
            after: {2min: idle n=3}
          left: {when: {go: left-behind}, after: {1s: right}, to: [idle]}
          right: {when: {go: right-behind}, after: {1s: left}, to: [idle]}
          left-behind: {}
          right-behind: {}
        """

    /// As a daemon has it, which waits for nobody.
    @Test func aMomentThatHasPassedComesBeforeTheFirstLine() throws {
        let machine = try declaration(
            """
            start: waiting until=1999-12-31T23:00:00Z
            events: {go: {}}
            states:
              waiting:
                fields: {until: instant}
                when: {go: early}
                after: {"{until}": over}
              early: {}
              over: {}
            """
        )
        let end = try Trace("send go").run(on: machine)
        #expect(end.written == "over")
    }

    private func run(_ trace: String) throws -> String {
        let machine = try declaration(Self.machine)
        do {
            return try Trace(trace).run(on: machine).written
        } catch {
            return error.text(in: "t")
        }
    }

    @Test(arguments: [
        ("", "idle n=0"),
        ("# nothing\n\n   \t# either\n-> idle n=0", "idle n=0"),
        ("send go\r\nrun ends 0 -> idle n=1\r\n", "idle n=1"),
        ("send go n=7 -> busy n=7 # and so on", "busy n=7"),
        ("send go\nwait 2min -> idle n=3", "idle n=3"),
        ("send go\nwait 1min59s\nwait 999ms -> busy", "busy n=0"),
        (
            "send go\nwait 1min\nsend stay-here\nwait 1min\nwait 59s -> busy\nwait 1s -> idle n=3",
            "idle n=3"
        ),
        // An update leaves the deadline as it is.
        ("send go\nwait 1min\nupdate n=5\nwait 1min -> idle n=3", "idle n=3"),
        ("update n+=5\nupdate n+=-2 -> idle n=3\nupdate n+=one -> refused", "idle n=3"),
        ("update n-=5\nupdate n-=-2 -> idle n=-3\nupdate n-=one -> refused", "idle n=-3"),
        // Each attempt has its timeout, and the pauses between them pass.
        ("send go\nrun times out x2\nwait 39s -> busy\nwait 1s -> idle n=3", "idle n=3"),
        ("send go\nrun ends 1 x2\n-> busy", "busy n=0"),
        ("send go\nrun ends 1\nrun ends 0 -> idle n=1", "idle n=1"),
        ("send go\nrun is interrupted x3 -> busy\nrun is interrupted -> busy", "busy n=0"),
        (
            "send go\nreboot -> busy\nrun ends SIGKILL -> busy\nreboot -> busy\nrun ends 0 -> idle n=1",
            "idle n=1"
        ),
        ("send go\nrun is killed by SIGKILL\nrun ends SIGTERM -> busy", "busy n=0"),
        ("set idle n=0 -> idle\nset busy n=1 -> idle", "idle n=0"),
        ("set idle n=4 -> idle n=4", "idle n=4"),
        ("set busy n=1 -> refused\nsend og -> refused\nset idle n=x -> refused", "idle n=0"),
    ])
    func tracesLeadWhereTheySay(trace: String, state: String) throws {
        #expect(try self.run(trace) == state)
    }

    @Test(arguments: [
        ("send go\n\n-> idle", "t:3: expected idle, found busy n=0"),
        ("-> idle n=1", "t:1: expected idle n=1, found idle n=0"),
        ("-> idel", "t:1: there is no state \"idel\"; did you mean idle?"),
        ("-> idle m=1", "t:1: \"idle\" has no field \"m\"; known: n"),
        ("-> idle n=x", "t:1: n=x: write a whole number"),
        ("send og", "t:1: there is no event \"og\"; did you mean go?; found idle n=0"),
        ("send go n=x -> busy", "t:1: n=x: write a whole number; found idle n=0"),
        ("set busy n=1", "t:1: busy may not follow idle; allowed: idle, left"),
        ("send go -> refused", "t:1: expected a refusal, found busy n=0"),
        ("-> refused", "t:1: expected a refusal, found idle n=0"),
        (
            "run ends 1 -> refused",
            "t:1: no command runs in \"idle\", so none can end; found idle n=0"
        ),
        ("run ends 1", "t:1: no command runs in \"idle\", so none can end; found idle n=0"),
        (
            "send go\nrun ends 1 x4",
            "t:2: the state was left after the command had ended 2 times, not 4; found idle n=3"
        ),
        (
            "send go\nrun ends 1\nrun ends 1\nrun ends 1",
            "t:4: the state was left before the run ended; found idle n=3"
        ),
        (
            "sned go",
            "t:1: \"sned\" is not a step; write send EVENT, set STATE, update key=value, wait TIME, at MOMENT, run ends CODE, run is killed by SIGNAL, run times out, run is interrupted, reboot, or see LINK STATE"
        ),
        (
            "wait",
            "t:1: \"wait\" is not a step; write send EVENT, set STATE, update key=value, wait TIME, at MOMENT, run ends CODE, run is killed by SIGNAL, run times out, run is interrupted, reboot, or see LINK STATE"
        ),
        ("wait 5", "t:1: 5: a time needs a unit; write 5s"),
        (
            "run ends x",
            "t:1: a run ends CODE, is killed by SIGNAL, times out, or is interrupted; x6 means six times"
        ),
        (
            "run is killed by KILL",
            "t:1: a run ends CODE, is killed by SIGNAL, times out, or is interrupted; x6 means six times"
        ),
        (
            "run ends 1 x0",
            "t:1: a run ends CODE, is killed by SIGNAL, times out, or is interrupted; x6 means six times"
        ),
        ("reboot ->", "t:1: write the expected state after ->"),
        ("send go n", "t:1: \"n\" is not key=value; a trace names each field"),
        ("send go n=\"1", "t:1: a quote is not closed"),
        (
            "set left\nrun times out",
            "t:2: no command runs in \"left\", so none can end; found left"
        ),
    ])
    func aMismatchIsToldWithItsLine(trace: String, sentence: String) throws {
        #expect(try self.run(trace) == sentence)
    }

    private static let interrupted = """
        start: working
        states:
          working: {run: {command: /bin/a, RETRY}, failed: broken}
          broken: {final: true}
        """

    /// Each of several reboots ends what runs by then.
    @Test(arguments: [
        ("reboot\nreboot\nreboot -> working\nreboot -> broken", "stop: 1s", "broken"),
        (
            "reboot\nwait 59s\nreboot\nwait 59s\nreboot\nwait 59s\nreboot -> broken", "stop: 1s",
            "broken"
        ),
        // What has lasted is no part of the row.
        (
            "reboot\nwait 1min\nreboot\nwait 1d\nreboot\nwait 1d\nreboot\nreboot\nreboot -> working",
            "stop: 1s", "working"
        ),
        // Nothing runs in the pause after the fourth.
        (
            "reboot\nreboot\nreboot\nreboot\nreboot\nwait 10s -> working",
            "retry: {times: 1, wait: 10s}", "working"
        ),
        (
            "reboot\nreboot\nreboot\nreboot\nwait 10s\nreboot\nreboot\nreboot -> working\nreboot -> broken",
            "retry: {times: 1, wait: 10s}", "broken"
        ),
        ("run is interrupted x400\nrun ends 1 -> working", "retry: {wait: 10s}", "working"),
    ])
    func eachRebootInterruptsWhatRunsByThen(trace: String, retry: String, state: String) throws {
        let machine = try declaration(Self.interrupted.replacing("RETRY", with: retry))
        #expect(try Trace(trace).run(on: machine).written == state)
    }

    @Test func whatIsBegunAgainWheneverItEndsLeadsNowhere() throws {
        let machine = try declaration(
            """
            start: on
            events: {off: {}}
            states:
              on: {run: {command: /bin/a, restart: always, retry: {wait: 1h}}, when: {off: dark}}
              dark: {final: true}
            """
        )
        let trace = "run ends 0 x3 -> on\nreboot x -> refused"
        #expect(throws: TraceFailure.self) { try Trace(trace) }
        #expect(
            try Trace("run ends 0 x3 -> on\nrun ends 7\nsend off").run(on: machine).written
                == "dark"
        )
    }

    @Test func theBreakerSuspendsACircleUntilSomebodyAsks() throws {
        // Four moves, and the fifth is withheld.
        #expect(try self.run("send circle\nwait 4s -> left\nwait 1h -> left") == "left")
        #expect(try self.run("send circle\nwait 3s -> right\nwait 1h -> left") == "left")
        // A request releases the move that is due, and the next four come in their time.
        #expect(
            try self.run("send circle\nwait 1h -> left\nsend circle -> right\nwait 1s -> left")
                == "left"
        )
        #expect(
            try self.run("send circle\nwait 1h\nset idle -> idle\nwait 1h -> idle") == "idle n=0"
        )
    }

    /// As a daemon has it: who asks finds the state that is shown.
    @Test func whatTheBreakerWithholdsComesAfterWhatIsAskedFor() throws {
        #expect(
            try self.run("send circle\nwait 1h -> left\nsend go -> left-behind") == "left-behind"
        )
        // A refusal releases it too, but not an event that there is not.
        #expect(
            try self.run("send circle\nwait 1h\nset busy n=1 -> refused\n-> right") == "right"
        )
        #expect(
            try self.run("send circle\nwait 1h\nsend nosuch -> refused\nwait 1h -> left") == "left"
        )
        #expect(
            try self.run("send circle\nwait 1h\nsend go n=x -> refused\n-> right") == "right"
        )
    }

    /// What a mismatch shows of a state can be written in the trace.
    @Test func aQuoteMayStandInAWord() throws {
        let machine = try declaration(
            """
            start: a t=x o={}
            states: {a: {to: [a], fields: {t: string, o: object}}}
            """
        )
        let trace = #"set a t="say \"hi\" \\ \n" o="{\"a\": [\"b\"]}" -> a t="say \"hi\" \\ \n""#
        #expect(try Trace(trace).run(on: machine).written.contains(#"\"a\""#))
    }
}
