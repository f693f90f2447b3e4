import ArgumentParser
import StateMachineClient
import TestSupport
import Testing

@testable import statectl

@Suite(.bounded) struct WatchRunTests {
    private static let state =
        #"{"type":"state","seq":1,"state":"a","data":{},"cursor":"e:1"}"# + "\n"
    private static let change =
        #"{"type":"change","seq":2,"state":"b","data":{},"cursor":"e:2"}"# + "\n"
    private static let reached = #"{"type":"reply","id":"until","ok":true,"seq":2}"# + "\n"

    @Test func theLastCommandEndsBeforeTheWatchDoesAndItsCursorIsKept() async throws {
        let control = ScriptedDoor([
            .awaitRequest, .awaitRequest, .send(Self.state + Self.change + Self.reached),
        ])
        try await Scratch.with { scratch in
            try await ScriptedDaemon.with(control: control) { daemon in
                let script = #"echo "$STATEMACHINE_SEQ" > "$0/seq""#
                let command = try #require(ChildCommand(["sh", "-c", script, scratch.path]))
                let keeper = CursorKeeper(CursorFile(path: "\(scratch.path)/cursor"))
                let queue = CommandQueue(
                    command,
                    target: MachineTarget(options: try SharedOptions.parse([])),
                    complain: { Issue.record("\($0)") },
                    done: { keeper.note($0.cursor) }
                )
                var run = WatchRun(
                    follow: Follow(watch: daemon.client.watch(until: ["b"])),
                    target: MachineTarget(options: try SharedOptions.parse([]))
                )
                (run.queue, run.keeper) = (queue, keeper)
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
                let queue = CommandQueue(
                    command,
                    target: MachineTarget(options: try SharedOptions.parse([])),
                    complain: { Issue.record("\($0)") },
                    done: { keeper.note($0.cursor) }
                )
                var run = WatchRun(
                    follow: Follow(watch: daemon.client.watch()),
                    target: MachineTarget(options: try SharedOptions.parse([]))
                )
                (run.queue, run.keeper) = (queue, keeper)
                await #expect(throws: Refusal.self) { try await run.run() }
            }
        }
    }
}
