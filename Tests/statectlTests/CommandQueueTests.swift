import ArgumentParser
import DaemonScripts
import StateMachineClient
import TestSupport
import Testing

@testable import statectl

@Suite(.bounded) struct CommandQueueTests {
    private static let resync =
        #"{"type":"state","seq":7,"state":"a","data":{},"cursor":"e:7","resync":"lagged"}"#
    private static let change =
        #"{"type":"change","seq":8,"state":"b","data":{"value":true},"#
        + #""from":{"state":"a","data":{}},"at":"2026-11-20T21:55:45.120007Z","#
        + #""by":{"uid":7,"pid":8},"cause":"a b","cursor":"e:8"}"#

    /// Runs a queue whose command is `script`; returns the complaints and the cursors that were
    /// finished.
    private func run(
        _ script: String,
        _ scratch: Scratch,
        _ use: (CommandQueue) throws -> Void
    ) async throws -> (complaints: [String], cursors: [String?]) {
        let command = try #require(ChildCommand(["sh", "-c", script, scratch.path]))
        let complaints = Recorder<String>()
        let cursors = Recorder<String?>()
        let queue = CommandQueue(
            command,
            target: MachineTarget(options: try SharedOptions.parse([])),
            complain: { complaints.record($0) },
            done: { cursors.record($0.cursor) }
        )
        try use(queue)
        await queue.run()
        return (complaints.heard, cursors.heard)
    }

    /// A run of `watch` that has each line's command run, and its cursor kept.
    private func watch(
        _ watch: Watch,
        _ command: ChildCommand,
        _ keeper: CursorKeeper
    ) throws -> WatchRun {
        let target = MachineTarget(options: try SharedOptions.parse([]))
        var run = WatchRun(follow: Follow(watch: watch), target: target)
        run.keeper = keeper
        run.queue = CommandQueue(
            command,
            target: target,
            complain: { Issue.record("\($0)") },
            done: { keeper.note($0.cursor) }
        )
        return run
    }

    @Test func theNewestLineStandsForAllAndNoLossIsForgotten() async throws {
        let script = """
            { printf '%s\\n' "$STATEMACHINE_STATE" "$STATEMACHINE_DATA" "$STATEMACHINE_FROM" \
            "$STATEMACHINE_FROM_DATA" "$STATEMACHINE_SEQ" "$STATEMACHINE_CURSOR" \
            "$STATEMACHINE_RESYNC" "$STATEMACHINE_EVENT" "$STATEMACHINE_AT" "$STATEMACHINE_BY_UID" \\
            "$STATEMACHINE_BY_PID" "$STATEMACHINE_CAUSE"; cat; } >> "$0/log"
            """
        try await Scratch.with { scratch in
            let (complaints, cursors) = try await self.run(script, scratch) { queue in
                queue.add(try Line.of(Self.resync), as: .state)
                queue.add(try Line.of(Self.change), as: .change)
                queue.finish()
            }
            let expected =
                "b\n{\"value\":true}\na\n{}\n8\ne:8\nlagged\nchange\n"
                + "2026-11-20T21:55:45.120007Z\n7\n8\na b\n\(Self.change)\n"
            #expect(try scratch.read("log") == expected)
            #expect(complaints == [])
            #expect(cursors == ["e:8"])
        }
    }

    @Test func aCommandThatFailsIsReportedAndItsLineDone() async throws {
        try await Scratch.with { scratch in
            let (complaints, cursors) = try await self.run("exit 3", scratch) { queue in
                queue.add(try Line.of(Self.change), as: .change)
                queue.finish()
            }
            #expect(complaints == ["sh ended with status 3"])
            #expect(cursors == ["e:8"])
        }
    }

    @Test func aLineThatWaitsWhenItIsStoppedIsNotDone() async throws {
        try await Scratch.with { scratch in
            let (complaints, cursors) = try await self.run("exit 3", scratch) { queue in
                queue.add(try Line.of(Self.change), as: .change)
                queue.stop()
            }
            #expect(complaints == [])
            #expect(cursors == [])
        }
    }

    @Test func whatALineDoesNotSayIsNotInTheEnvironment() throws {
        let line = try Line.of(#"{"type":"state","seq":1,"state":"a\u0000b","data":{}}"#)
        let variables = LineEnvironment.watch(line, event: "state", resync: nil)
        #expect(variables["STATEMACHINE_FROM"] == .some(nil))
        #expect(variables["STATEMACHINE_RESYNC"] == .some(nil))
        #expect(variables["STATEMACHINE_STATE"] == "a\u{FFFD}b")
    }

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
        #expect(ChildCommand.Ending.exited(3).complaint(about: command) == "sh ended with status 3")
        #expect(
            ChildCommand.Ending.signalled(15).complaint(about: command)
                == "sh was ended by signal 15"
        )
        #expect(ChildCommand.Ending.notFound.complaint(about: command) == "there is no command sh")
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

    private static let state =
        #"{"type":"state","seq":1,"state":"a","data":{},"cursor":"e:1"}"# + "\n"
    private static let second =
        #"{"type":"change","seq":2,"state":"b","data":{},"cursor":"e:2"}"# + "\n"
    private static let reached = #"{"type":"reply","id":"until","ok":true,"seq":2}"# + "\n"

    @Test func theLastCommandEndsBeforeTheWatchDoesAndItsCursorIsKept() async throws {
        let control = ScriptedDoor([
            .awaitRequest, .awaitRequest, .send(Self.state + Self.second + Self.reached),
        ])
        try await Scratch.with { scratch in
            try await ScriptedDaemon.with(control: control) { daemon in
                let script = #"echo "$STATEMACHINE_SEQ" > "$0/seq""#
                let command = try #require(ChildCommand(["sh", "-c", script, scratch.path]))
                let keeper = CursorKeeper(CursorFile(path: "\(scratch.path)/cursor"))
                let run = try self.watch(daemon.client.watch(until: ["b"]), command, keeper)
                try await run.run()
                let seq = try scratch.read("seq")
                #expect(seq == "2\n")
                let cursor = try scratch.read("cursor")
                #expect(cursor == "e:2\n")
            }
        }
    }

    @Test func aCursorThatCannotBeKeptEndsTheWatch() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.state)])
        try await Scratch.with { scratch in
            try await ScriptedDaemon.with(control: control) { daemon in
                let keeper = CursorKeeper(CursorFile(path: "\(scratch.path)/a/b"))
                let command = try #require(ChildCommand(["true"]))
                let run = try self.watch(daemon.client.watch(), command, keeper)
                await #expect(throws: Refusal.self) { try await run.run() }
            }
        }
    }
}
