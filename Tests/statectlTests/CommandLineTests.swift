import ArgumentParser
import Processes
import StateMachineClient
import Testing

@testable import statectl

@Suite struct CommandLineTests {
    @Test(arguments: [
        ["--runtime-directory", "/d", "--json", "get"],
        ["get", "--runtime-directory", "/d", "--json"],
        ["--json", "get", "--runtime-directory", "/d"],
        ["--runtime-directory=/d", "get", "--json"],
    ])
    func commonOptionsStandBeforeOrAfterTheCommand(arguments: [String]) throws {
        let command = try #require(try Statectl.parseAsRoot(arguments) as? GetCommand)
        #expect(command.options.runtimeDirectory == "/d")
        #expect(command.options.json)
    }

    @Test(arguments: ["watch", "wait"])
    func whatIsNoCursorIsRefused(command: String) async throws {
        let objection = "--since takes a cursor here, as in {cursor}; "
        for text in ["zzz", "", "today"] {
            let error = await #expect(throws: (any Error).self) {
                try await Statectl.command([command, "a", "--since", text])
            }
            #expect(error.map(Statectl.message)?.hasPrefix(objection) == true)
        }
        await #expect(throws: Never.self) {
            try await Statectl.command([command, "a", "--since", "7f3a9c:41"])
        }
    }

    @Test func patternsOfSuccessAndFailureAreToldApart() throws {
        let arguments = ["wait", "a", "b:x=1", "--fail", "c", "d", "--timeout", "0.25"]
        let command = try #require(try Statectl.parseAsRoot(arguments) as? WaitCommand)
        #expect(command.patterns == ["a", "b:x=1"])
        #expect(command.fail == ["c", "d"])
        #expect(command.timeout?.duration == .milliseconds(250))
    }

    /// Scripts write `--cause="$WHY"`, and `$WHY` may be empty.
    @Test func anEmptyValueAfterTheSignIsAValueAndNoneOfTheWordsThatFollow() async throws {
        func parsed(_ words: String...) async throws -> any ParsableCommand {
            try await Statectl.command(Statectl.words(words))
        }
        let set = try await parsed("set", "--cause=", "text", "idle") as? SetCommand
        #expect(set?.change.cause == "" && set?.state == "text" && set?.values == ["idle"])
        let state = try await parsed("set", "--if-state=", "text", "idle") as? SetCommand
        #expect(state?.change.conditions.ifState == [""] && state?.state == "text")
        let unless = try await parsed("set", "--unless-state=", "neg", "idle") as? SetCommand
        #expect(unless?.change.conditions.unlessState == [""] && unless?.state == "neg")
        let update = try await parsed("update", "--cause=", "s=z", "t=q") as? UpdateCommand
        #expect(update?.change.cause == "" && update?.values == ["s=z", "t=q"])
        let history = try await parsed("history", "--cause=", "text") as? HistoryCommand
        #expect(history?.cause == "" && history?.patterns == ["text"])
        let last = try await parsed("set", "text", "s=x", "--cause=") as? SetCommand
        #expect(last?.change.cause == "" && last?.values == ["s=x"])
        // A value that ends in the sign, and a program's own words, stay as they are.
        let value = try await parsed("set", "text", "s=", "--cause=x=") as? SetCommand
        #expect(value?.change.cause == "x=" && value?.values == ["s="])
        let hold = try await parsed("hold", "--before", "a", "--why=", "--", "run", "--x=")
        #expect((hold as? HoldCommand)?.command == ["run", "--x="])
        #expect((hold as? HoldCommand)?.why == "")
        await #expect(throws: (any Error).self) { try await parsed("watch", "--cursor-file=", "a") }
        await #expect(throws: (any Error).self) { try await parsed("get", "--json=") }
    }

    @Test func aWordThatIsNotUTF8IsShownByItsBytes() {
        #expect("s=aé".withCString { ArgumentWords.unreadable($0) } == nil)
        let word = Array("s=a".utf8) + [0xFF, 0x09] + Array("b\0".utf8)
        let shown = word.withUnsafeBytes { bytes in
            bytes.bindMemory(to: CChar.self).baseAddress.flatMap { ArgumentWords.unreadable($0) }
        }
        #expect(shown == #"s=a\xff\x09b"#)
    }

    @Test func whatMayBeGivenAgainIsAList() async throws {
        let words = ["set", "a", "--if-state", "b", "--if-state", "c", "--unless-state", "d", "x"]
        let command = try #require(try await Statectl.command(words) as? SetCommand)
        #expect(command.change.conditions.patterns == ["b", "c", "!d"])
        #expect(command.values == ["x"])
        let hold = ["hold", "--before", "a", "--before", "b", "--json", "--json"]
        #expect(try await (Statectl.command(hold) as? HoldCommand)?.before == ["a", "b"])
        for words in [
            ["watch", "a", "--until", "b", "--until", "c"],
            ["wait", "a", "--fail", "b", "--fail", "c"],
            ["get", "-m", "a", "-m", "b"], ["get", "--machine", "a", "--machine", "b"],
            ["hold", "--before", "a", "--when", "b", "--when", "c", "--", "run"],
            ["hold", "--before", "a", "--when-not", "b", "--when-not", "c", "--", "run"],
            ["guard", "--before", "a", "--before", "b", "--", "run"],
            ["set", "a", "--unless-state", "b", "--unless-state", "c"],
        ] {
            await #expect(throws: Never.self, "\(words)") { try await Statectl.command(words) }
        }
        // Words for another program are left to it.
        let run = ["hold", "--before", "a", "--why", "x", "--", "run", "--why", "y", "-1"]
        #expect(try await (Statectl.command(run) as? HoldCommand)?.why == "x")
    }

    @Test(
        arguments: [
            ("200ms", .milliseconds(200)), ("1ms", .milliseconds(1)), ("30s", .seconds(30)),
            ("1min", .seconds(60)), ("1h30min", .seconds(5400)), ("2d", .seconds(172_800)),
            ("1w", .seconds(604_800)), ("0.25", .milliseconds(250)), ("0", .zero), ("0s", .zero),
            ("90", .seconds(90)), ("", nil), ("s", nil), ("1h30", nil), ("1y", nil), ("-1", nil),
            ("1m", .seconds(60)), ("1h30m", .seconds(5400)), ("1M", nil), ("1.5h", nil),
            ("1 min", nil), ("1min1min", nil),
            ("1min1h", nil), ("nan", nil), ("inf", nil), ("1e10", nil), ("99999w", nil),
            ("1..5s", nil),
        ] as [(String, Duration?)]
    )
    func aTimeIsWrittenAsInAFileOrInSeconds(text: String, duration: Duration?) {
        #expect(Seconds(argument: text)?.duration == duration)
    }

    @Test(arguments: [
        ["watch", "a", "b", "--until", "c", "d", "--exec", "run", "-x", "--latest"],
        ["watch", "a", "b", "--until", "c", "d", "--", "run", "-x", "--latest"],
        ["watch", "a", "b", "--until", "c", "d", "--exec", "--", "run", "-x", "--latest"],
        [
            "--color", "never", "watch", "a", "b", "--until", "c", "d", "--", "run", "-x",
            "--latest",
        ],
    ])
    func aWatchsCommandTakesAllWordsToTheEnd(arguments: [String]) throws {
        let words = Statectl.words(arguments)
        let command = try #require(try Statectl.parseAsRoot(words) as? WatchCommand)
        #expect(command.patterns == ["a", "b"])
        #expect(command.until == ["c", "d"])
        #expect(command.program == ["run", "-x", "--latest"])
        #expect(!command.latest)
    }

    /// Among them are those that are options of this program, too.
    @Test(arguments: ["--exec", "--"])
    func optionsInAWatchsCommandAreItsOwn(start: String) async throws {
        let program = ["statectl", "-m", "b", "--json", "--", "x", "--help", "--version", ""]
        let words = Statectl.words(["-m", "a", "watch", "s", start] + program)
        let command = try #require(try await Statectl.command(words) as? WatchCommand)
        #expect(command.options.machine == ["a"])
        #expect(!command.options.json)
        #expect(command.patterns == ["s"])
        #expect(command.program == program)
    }

    @Test(arguments: [
        ["get"], ["hold", "--before", "a", "--", "watch"], ["set", "watch", "--", "a=1"],
        ["---completion", "watch", "--", "positional@0", "2", "0", "statectl", "watch", ""],
    ])
    func otherWordsAreLeftAsTheyAre(arguments: [String]) {
        #expect(Statectl.words(arguments) == arguments)
    }

    @Test func theHelpOfACommandEndsWithItsExamples() {
        let help = "OVERVIEW: Set.\n\nWhat.\n\nExamples:\n\n  a\n  b\n\nUSAGE: set\n\nOPTIONS:\n"
        #expect(
            Statectl.endingWithExamples(help)
                == "OVERVIEW: Set.\n\nWhat.\n\nUSAGE: set\n\nOPTIONS:\n\nEXAMPLES:\n\n  a\n  b"
        )
        #expect(Statectl.endingWithExamples("USAGE: set") == "USAGE: set")
    }

    @Test func valuesAreTypedAsTheProtocolHasThem() throws {
        let words = ["a=true", "b=x=y", "c=", "d:=[1]", "e:=\"f\"", "g"]
        let fields = try TypedValues.parse([]).fields(words)
        #expect(
            fields?.words == [
                JSONMember("a", "true"), JSONMember("b", "x=y"), JSONMember("c", ""),
                JSONMember("", "g"),
            ]
        )
        #expect(fields?.values == [JSONMember("d", [1]), JSONMember("e", "f")])
        #expect(try TypedValues.parse([]).fields([]) == nil)
        let whole = try TypedValues.parse(["--data", #"{"a":"true"}"#])
        #expect(try whole.fields([]) == FieldWords(values: [JSONMember("a", "true")]))
        #expect(Pattern(typed: "ready:value=true") == "ready:value=true")
        #expect(Pattern(typed: #"{"state":"ready"}"#) == ["state": "ready"])
        #expect(Pattern(typed: "3") == "3")
    }

    @Test(arguments: [
        (ColorChoice.auto, true, [:], Style.coloured),
        (.auto, false, [:], .plain),
        (.auto, true, ["TERM": "dumb"], .plain),
        (.auto, true, ["NO_COLOR": "1"], .plain),
        (.auto, true, ["NO_COLOR": ""], .coloured),
        (.always, false, ["NO_COLOR": "1"], .coloured),
        (.never, true, [:], .plain),
    ])
    func colourIsForTerminalsThatWantIt(
        choice: ColorChoice,
        isTerminal: Bool,
        environment: [String: String],
        style: Style
    ) {
        #expect(choice.style(isTerminal: isTerminal) { environment[$0] } == style)
    }
}

extension WatchCommand {
    /// The words of the program to run, as they were before the parser was to take them all.
    fileprivate var program: [String] {
        self.exec.map { String($0.dropFirst(Statectl.verbatim.count)) }
    }
}
