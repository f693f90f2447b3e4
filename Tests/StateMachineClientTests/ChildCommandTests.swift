import TestSupport
import Testing

@testable import statectl

@Suite(.bounded) struct ChildCommandTests {
    private func shell(_ script: String, _ arguments: String...) throws -> ChildCommand {
        try #require(ChildCommand(["sh", "-c", script] + arguments))
    }

    @Test func anEndIsToldAsAShellWould() async throws {
        #expect(try await self.shell("exit 7").run() == .exited(7))
        #expect(try await self.shell("kill -9 $$").run() == .signalled(9))
        let missing = try #require(ChildCommand(["statectl-no-such-command"]))
        #expect(await missing.run() == .notFound)
        let endings: [ChildCommand.Ending] = [
            .exited(7), .signalled(9), .notFound, .notStarted(""),
        ]
        #expect(endings.map(\.status) == [7, 137, 127, 126])
    }

    @Test func noWordIsNoCommand() {
        #expect(ChildCommand([]) == nil)
    }

    @Test func aComplaintNamesTheCommand() throws {
        let command = try self.shell("")
        #expect(ChildCommand.Ending.exited(0).complaint(about: command) == nil)
        #expect(
            ChildCommand.Ending.exited(3).complaint(about: command) == "sh ended with status 3"
        )
        #expect(
            ChildCommand.Ending.signalled(15).complaint(about: command)
                == "sh was ended by signal 15"
        )
        #expect(
            ChildCommand.Ending.notFound.complaint(about: command) == "there is no command sh"
        )
    }

    @Test(arguments: [5, 200_000])
    func allOfTheInputIsThereAndNeedNotBeRead(count: Int) async throws {
        let text = String(repeating: "x", count: count)
        #expect(try await self.shell("exit 0").run(input: text) == .exited(0))
        let script = "[ $(wc -c) = \(count) ]"
        #expect(try await self.shell(script).run(input: text) == .exited(0))
    }

    @Test func variablesAreSetAndTakenAway() async throws {
        let ending = try await self.shell(#"[ "$STATECTL_A" = "b c" ] && [ -z "${HOME+set}" ]"#)
            .run(environment: ["STATECTL_A": "b c", "HOME": nil])
        #expect(ending == .exited(0))
    }

    @Test func theCommandObeysSignalsThatWeIgnore() async throws {
        let script = "kill -PIPE $$; exit 0"
        #expect(try await self.shell(script).run() == .signalled(13))
    }

    @Test func cancellationTellsTheCommandToEnd() async throws {
        try await Scratch.with { scratch in
            let script = #"trap 'echo told > "$0/log"; exit 3' TERM; while :; do sleep 0.01; done"#
            let command = try self.shell(script, scratch.path)
            let ending = await withTaskGroup(of: ChildCommand.Ending.self) { group in
                group.addTask { await command.run() }
                group.cancelAll()
                return await group.next()
            }
            // SIGTERM may have arrived before the shell had set its trap.
            #expect(ending == .exited(3) || ending == .signalled(15))
        }
    }

    @Test func theFirstLineOfTheErrorsIsKept() async throws {
        let (ending, complaint) = try await self.shell("echo 'not now' >&2; echo b >&2; exit 2")
            .runKeepingComplaint(environment: [:], input: "")
        #expect(ending == .exited(2))
        #expect(complaint == "not now")
    }

    @Test(
        arguments: [
            ([], nil), (["\n"], nil), (["  \nb"], nil), (["a", "b\nc"], "ab"), (["a"], "a"),
            ([String(repeating: "ä", count: 200)], String(repeating: "ä", count: 128)),
            (["x" + String(repeating: "ä", count: 200)], "x" + String(repeating: "ä", count: 127)),
        ] as [([String], String?)]
    )
    func aFirstLineIsCutBetweenCharacters(parts: [String], text: String?) {
        var line = ChildCommand.FirstLine()
        for part in parts { line.append(Array(part.utf8)) }
        #expect(line.text == text)
    }
}
