import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

@Suite struct CommandTests {
    private func machine(_ command: String, defaults: String = "{}") throws -> Declaration {
        try declaration(
            """
            start: a
            defaults: \(defaults)
            states:
              a:
                fields: {t: {type: string, default: "x y"}, n: {type: integer, default: 3}, b: {type: boolean, default: true}}
                run: \(command)
                final: true
            """
        )
    }

    @Test(arguments: [
        ("/bin/a  b c", ["/bin/a", "b", "c"]),
        ("[/bin/a, b c]", ["/bin/a", "b c"]),
        (#"[/bin/a, "{t}", "-{n}-{b}"]"#, ["/bin/a", "x y", "-3-true"]),
        (#"[/bin/a, "{{t}", "}", "{{{n}}"]"#, ["/bin/a", "{t}", "}", "{3}"]),
        (#"[/bin/a, ""]"#, ["/bin/a", ""]),
        (#"[/bin/a, "$HOME;"]"#, ["/bin/a", "$HOME;"]),
        (#"{command: "/bin/a {t}"}"#, ["/bin/a", "x y"]),
    ])
    func wordsStayWords(command: String, words: [String]) throws {
        let machine = try self.machine(command)
        let run = try #require(machine.states[0].run)
        #expect(run.command.words(in: machine.initial) == words)
    }

    @Test(arguments: [
        "a b", "\"'`$(reboot)&&*", "two\nlines\tand\r", "-rf", "--", "{t}", "{{", "", "e\u{301}",
        "\u{202E}x",
        String(repeating: "x", count: 60_000), "a\0b",
    ])
    func whateverAValueIsItStaysOneWord(value: String) throws {
        let machine = try self.machine(#"[/bin/a, "{t}", "<{t}>", last]"#)
        let state = try machine.state("a", data: [JSONMember("t", .string(value))])
        let words = try #require(machine.states[0].run).command.words(in: state)
        // What would end it does not.
        let word = value.replacing("\0", with: "\u{FFFD}")
        #expect(words == ["/bin/a", word, "<\(word)>", "last"])
    }

    private static let options = """
        start: a
        states:
          a:
            fields:
              t: {type: string, default: x}
              k: {type: integer, default: 3}
              m: {type: integer, min: 0, default: 3}
              b: {type: boolean, default: true}
              v: {values: [x, z], default: x}
              w: {values: [x, -z], default: x}
            run: COMMAND
            final: true
        """

    @Test(arguments: [
        (#"[/bin/a, "{t}"]"#, ["{t}"]), (#"[/bin/a, "{k}x", b]"#, ["{k}x"]),
        (#"[/bin/a, "{w}", "{t}", --, "{t}"]"#, ["{w}", "{t}"]),
        (#"[/bin/a, --, "{t}"]"#, []), (#"[/bin/a, "--to={t}", "x{k}"]"#, []),
        (#"[/bin/a, "{m}", "{b}", "{v}"]"#, []), (#"{command: [/bin/a, "{t}"]}"#, ["{t}"]),
    ])
    func strictlyAFieldIsNoOption(command: String, words: [String]) throws {
        let text = Self.options.replacing("COMMAND", with: command)
        let sentences = words.map {
            "file:11:5: warning: \($0) may begin with - and be taken for an option; write -- before it"
        }
        let strict = DeclarationReading(Array(text.utf8), isStrict: true)
        #expect(strict.problems.map { $0.line(in: "file") } == sentences)
        #expect(strict.isRefused(strict: true) == !words.isEmpty)
        // Otherwise it is up to the author.
        #expect(problems(text).isEmpty)
    }

    @Test func whatACommandDoesNotSayTheDefaultsSay() throws {
        let machine = try self.machine(
            "{command: /bin/a, user: me, environment: {A: 2, C: 3}}",
            defaults: "{user: you, group: us, timeout: 3s, stop: 1min, retry: {}, directory: /tmp, "
                + "environment-file: /etc/x, environment: {A: 1, B: 1}}"
        )
        let command = try #require(machine.states[0].run).command
        #expect(command.user == "me")
        #expect(command.group == "us")
        #expect(command.timeout == .seconds(3))
        #expect(command.stop == .seconds(60))
        #expect(command.directory == "/tmp")
        #expect(command.environmentFile == "/etc/x")
        #expect(command.environment.map { "\($0.name)=\($0.value)" } == ["B=1", "A=2", "C=3"])
        let retry = try #require(command.retry)
        #expect(retry.times == nil)
        #expect(retry.wait == .seconds(1))
        #expect(retry.longest == .seconds(300))
    }

    @Test func aRunHasNoTimeoutUnlessItSays() throws {
        let command = try #require(try self.machine("/bin/a").states[0].run).command
        #expect(command.timeout == nil)
        #expect(command.stop == .seconds(10))
        #expect(command.retry == nil)
        #expect(command.directory == "/")
    }

    @Test(arguments: [
        ("{}", "after 1s, and so on for ever"),
        ("{times: 2, wait: 5s}", "after 5s, 5s; then it has failed, after 10s of waiting"),
        (
            "{times: 5, wait: 1min, factor: 2, longest: 30min}",
            "after 1min, 2min, 4min, 8min, 16min; then it has failed, after 31min of waiting"
        ),
        (
            "{times: 100, wait: 1s, factor: 10, longest: 1min}",
            "after 1s, 10s, 1min, 1min, 1min, 1min, 1min, 1min, 1min, 1min, … (100 times); then it has "
                + "failed, after 1h38min11s of waiting"
        ),
        (
            "{wait: 10s, factor: 2}",
            "after 10s, 20s, 40s, 1min20s, 2min40s, 5min, and so on for ever"
        ),
        ("{wait: 10min}", "after 10min, and so on for ever"),
        (
            "{wait: 1s, factor: 1.1}",
            "after 1s, 1s100ms, 1s210ms, 1s331ms, 1s464ms, 1s611ms, 1s772ms, 1s949ms, 2s144ms, 2s358ms, … "
                + "up to 5min, for ever"
        ),
    ])
    func theScheduleOfRetriesIsTold(retry: String, schedule: String) throws {
        let machine = try self.machine("{command: /bin/a, retry: \(retry)}")
        #expect(machine.states[0].run?.command.retry?.schedule == schedule)
    }

    @Test func aRunIsTriedAgainOnlyIfItHasFailed() throws {
        let machine = try declaration(
            """
            start: a
            states:
              a:
                run: {command: /bin/a, retry: {times: 2, wait: 1s, factor: 3}}
                exit: {21: a}
                final: true
            """
        )
        var progress = RunProgress()
        #expect(progress.ended(.exit(1), in: machine.initial) == .again(after: .seconds(1)))
        #expect(progress.attempt == 2)
        #expect(progress.ended(.timeout, in: machine.initial) == .again(after: .seconds(3)))
        #expect(
            progress.ended(.signal("SIGSEGV"), in: machine.initial) == .over(.signal("SIGSEGV"))
        )
        var other = RunProgress()
        #expect(other.ended(.exit(21), in: machine.initial) == .over(.exit(21)))
        #expect(other.ended(.exit(0), in: machine.initial) == .over(.exit(0)))
    }

    @Test func anInterruptedRunIsRunAgainThreeTimesInARow() throws {
        let machine = try self.machine("{command: /bin/a, retry: {times: 9}}")
        var progress = RunProgress()
        for _ in 0..<3 {
            #expect(progress.ended(.interrupted, in: machine.initial) == .again(after: .zero))
        }
        // The next one is a failure like any other, and begins the row again.
        #expect(progress.ended(.interrupted, in: machine.initial) == .again(after: .seconds(1)))
        #expect(progress.attempt == 2)
        for _ in 0..<3 {
            #expect(progress.ended(.interrupted, in: machine.initial) == .again(after: .zero))
        }
        let unretried = try self.machine("/bin/a").initial
        #expect(progress.ended(.interrupted, in: unretried) == .over(.interrupted))
        var other = RunProgress()
        for _ in 0..<5 {
            #expect(other.ended(.interrupted, in: machine.initial) == .again(after: .zero))
            #expect(other.ended(.exit(1), in: machine.initial) == .again(after: .seconds(1)))
        }
    }

    @Test func anAttemptHasLastedAfterAMinuteAndItsPause() throws {
        let machine = try self.machine("{command: /bin/a, retry: {wait: 40s, factor: 2}}")
        let run = try #require(machine.states[0].run)
        let retry = run.command.retry
        var progress = RunProgress()
        #expect(progress.lasting(retrying: retry, restarting: false) == nil)
        for (pause, lasting) in [(0, 60), (40, 60), (80, 80)] {
            if pause > 0 {
                #expect(
                    progress.ended(.exit(1), in: machine.initial) == .again(after: .seconds(pause))
                )
            }
            _ = progress.ended(.interrupted, in: machine.initial)
            #expect(
                progress.lasting(retrying: retry, restarting: false) == .seconds(lasting)
            )
            progress.lasted(restarting: false)
            #expect(progress.interruptions == 0)
        }
        #expect(progress.attempt == 3)
    }

    @Test func aRunMayBeBegunAgainWheneverItEnds() throws {
        let machine = try declaration(
            """
            start: a
            defaults: {retry: {times: 2, wait: 3s}}
            states:
              a: {run: {command: /bin/a, restart: always}, to: [b]}
              b: {run: {command: /bin/b, restart: "no"}, to: [a]}
            """
        )
        let run = try #require(machine.states[0].run)
        #expect(run.restarts && run.command.retry?.times == nil)
        #expect(machine.states[1].run?.restarts == false)
        var progress = RunProgress()
        for end in [RunEnd.exit(0), .exit(1), .timeout, .signal("SIGSEGV"), .exit(0)] {
            #expect(progress.ended(end, in: machine.initial) == .again(after: .seconds(3)))
        }
        #expect(progress.ended(.interrupted, in: machine.initial) == .again(after: .zero))
        #expect(progress.attempt == 6)
        progress.lasted(restarting: true)
        #expect(progress == RunProgress())
        #expect(try machine.initial.decision(on: .runEnded(.exit(0))).cause == nil)
    }

    private func properties(_ command: String, defaults: String = "{}") throws -> [String] {
        let machine = try declaration(
            "start: a\ndefaults: \(defaults)\nstates: {a: {run: \(command), final: true}}\n"
        )
        return try #require(machine.states[0].run).command.properties
            .map { "\($0.name)=\($0.value)" }
    }

    @Test(arguments: [
        ("CPUQuota: 20%", "CPUQuota=20%"), ("MemoryMax: 1.5G", "MemoryMax=1.5G"),
        ("PrivateTmp: yes", "PrivateTmp=yes"), ("UMask: 0077", "UMask=0077"),
        ("LimitNOFILE: 1024:4096", "LimitNOFILE=1024:4096"), ("Unheard: 1", "Unheard=1"),
        ("CapabilityBoundingSet:", "CapabilityBoundingSet="), ("ExecPaths: []", "ExecPaths="),
        ("SystemCallFilter: ~@mount @swap", "SystemCallFilter=~@mount @swap"),
        ("SystemCallFilter: [~@mount, '@swap']", "SystemCallFilter=~@mount @swap"),
        (#"ReadWritePaths: ["/a b", '/c"d', /e]"#, #"ReadWritePaths="/a b" "/c\"d" /e"#),
    ])
    func eachIsTakenAsItIsWritten(_ written: String, _ taken: String) throws {
        // In block style, where a value is written as in a unit file.
        let machine = try declaration(
            "start: a\nstates:\n  a:\n    final: true\n    run:\n      command: /bin/a\n      properties:\n        "
                + written + "\n"
        )
        let properties = try #require(machine.states[0].run).command.properties
        #expect(properties.map { "\($0.name)=\($0.value)" } == [taken])
    }

    @Test func whatACommandDoesNotSayOfItsUnitTheDefaultsSay() throws {
        let properties = try self.properties(
            "{command: /bin/a, properties: {MemoryMax: 50%, LimitNOFILE: 9}}",
            defaults: "{properties: {MemoryMax: 200M, Nice: 5, LimitNOFILE: \"1:2\"}}"
        )
        #expect(properties == ["Nice=5", "MemoryMax=50%", "LimitNOFILE=9"])
    }

    @Test(arguments: [
        ("500ms", 500), ("30s", 30_000), ("2min", 120_000), ("1h", 3_600_000), ("7d", 604_800_000),
        ("2w", 1_209_600_000), ("1h30min", 5_400_000), ("1d1ms", 86_400_001), ("10ms", 10),
        ("400d", 34_560_000_000), ("007s", 7000), ("5m", 300_000), ("1h30m5s", 5_405_000),
        ("5m5ms", 300_005),
    ])
    func timesAreRead(text: String, milliseconds: Int) throws {
        #expect(try TimeText.duration(text) == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        ("30", "30: a time needs a unit; write 30s"),
        ("1h30", "1h30: a time needs a unit; write 30s"),
        ("9ms", "9ms: a time must be from 10ms to 400d"),
        ("401d", "401d: a time must be from 10ms to 400d"),
        ("400d1ms", "400d1ms: a time must be from 10ms to 400d"),
        ("0s", "0s: a time must be from 10ms to 400d"),
        ("9999999999999999999w", "9999999999999999999w: a time must be from 10ms to 400d"),
        ("1s1min", "1s1min: write the largest unit first, and each unit once"),
        ("1min1m", "1min1m: write the largest unit first, and each unit once"),
        ("5M", "5M: there is no unit \"M\"; known: ms, s, min, h, d, w"),
        ("1s1s", "1s1s: write the largest unit first, and each unit once"),
        ("1y", "1y: there is no unit \"y\"; known: ms, s, min, h, d, w"),
        ("1.5s", "1.5s: write whole numbers, like 1h30min"),
        ("1h 30min", "1h 30min: write it without spaces, like 1h30min"),
        ("", "\"\" is not a time; write it like 30s or 1h30min"),
        ("-1s", "\"-1s\" is not a time; write it like 30s or 1h30min"),
    ])
    func whatIsNoTimeIsRefused(text: String, sentence: String) {
        let objection = #expect(throws: TimeText.Objection.self) { try TimeText.duration(text) }
        #expect(objection?.sentence == sentence)
    }

    @Test func timesAreWrittenAsTheyAreRead() throws {
        for text in ["10ms", "1min20s", "5min20s", "1h30min", "400d", "1d2h3min4s5ms"] {
            #expect(try TimeText.duration(text).timeText == text)
        }
        #expect(Duration.zero.timeText == "0s")
    }
}
