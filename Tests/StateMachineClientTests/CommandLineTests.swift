import ArgumentParser
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

    @Test func patternsOfSuccessAndFailureAreToldApart() throws {
        let arguments = ["wait", "a", "b:x=1", "--fail", "c", "d", "--timeout", "0.25"]
        let command = try #require(try Statectl.parseAsRoot(arguments) as? WaitCommand)
        #expect(command.patterns == ["a", "b:x=1"])
        #expect(command.fail == ["c", "d"])
        #expect(command.timeout?.duration == .milliseconds(250))
    }

    @Test(arguments: [
        ["frobnicate"],
        ["set"],
        ["set", "ready", "true", "false"],
        ["set", "ready", "=true"],
        ["set", "ready", "value=1", "value=2"],
        ["set", "ready", "value=1", "value:=2"],
        ["set", "ready", "value:=x"],
        ["set", "ready", "value=1", "--data", "{}"],
        ["update"],
        ["set", "ready", "--if-seq", "-1"],
        ["is"],
        ["wait"],
        ["wait", "--fail", "a"],
        ["wait", "a", "--timeout", "-1"],
        ["wait", "a", "--timeout", "soon"],
        ["watch", "--count", "0"],
        ["watch", "--cursor-file", ""],
        ["watch", "--every", "-1"],
        ["history", "--limit", "0"],
        ["stats", "--json", "--prometheus"],
        ["hold", "--", "true"],
        ["hold", "--before", "a", "--mode", "shut"],
        ["guard", "--before", "a"],
        ["guard", "--", "true"],
        ["guard", "--before", "a", "--on-timeout", "ask", "--", "true"],
        ["release"],
        ["release", "-1"],
        ["graph", "--json"],
        ["machines", "-m", "left"],
        ["get", "--runtime-directory", ""],
        ["get", "-m", ""],
        ["get", "-m", "a/b"],
        ["get", "--runtime-directory", "/d", "-m", "left"],
    ])
    func whatCannotBeMeantIsAUsageError(arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try Statectl.parseAsRoot(arguments) }
        #expect(error.map { Statectl.exitCode(for: $0).isSuccess } == false)
    }

    @Test(arguments: [
        ["update", "note=x", "--if-seq", "3"], ["send", "a", "--reenter", "3"],
        ["set", "a", "--stay=2", "x"],
    ])
    func anOptionThatACommandDoesNotHaveIsNoValue(arguments: [String]) async {
        let error = await #expect(throws: (any Error).self) {
            try await Statectl.command(arguments)
        }
        let option = arguments[2].prefix { $0 != "=" }
        #expect(
            error.map { Statectl.message(for: $0) } == "\(arguments[0]) has no option \(option)"
        )
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
        #expect(command.exec == ["run", "-x", "--latest"])
        #expect(!command.latest)
    }

    @Test(arguments: [
        ["get"], ["hold", "--before", "a", "--", "watch"], ["set", "watch", "--", "a=1"],
        ["watch", "--exec", "run", "--", "x"],
        ["---completion", "watch", "--", "positional@0", "2", "0", "statectl", "watch", ""],
    ])
    func otherWordsAreLeftAsTheyAre(arguments: [String]) {
        #expect(Statectl.words(arguments) == arguments)
    }

    @Test func aHoldsCommandStandsAfterTheTerminator() throws {
        let arguments = ["hold", "--before", "a", "b:x=1", "--max", "2", "--", "run", "--why", "c"]
        let command = try #require(try Statectl.parseAsRoot(arguments) as? HoldCommand)
        #expect(command.before == ["a", "b:x=1"])
        #expect(command.command == ["run", "--why", "c"])
        #expect(command.why == nil)
    }

    @Test func aMissingCommandIsAUsageError() async throws {
        let root = try #require(try Statectl.parseAsRoot([]) as? Statectl)
        let error = await #expect(throws: ValidationError.self) { try await root.run() }
        #expect(
            error?.message.contains(
                "ping, history, stats, status, machines, hold, release, guard, check, try, graph, replay or schema"
            ) == true
        )
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
        #expect(
            try whole.fields([])
                == FieldWords(values: [JSONMember("a", "true")])
        )
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
