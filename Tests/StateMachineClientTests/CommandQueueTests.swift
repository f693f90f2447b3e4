import ArgumentParser
import StateMachineClient
import Synchronization
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
        let complaints = Box<String>()
        let cursors = Box<String?>()
        let queue = CommandQueue(
            command,
            target: MachineTarget(options: try SharedOptions.parse([])),
            complain: { complaints.add($0) },
            done: { cursors.add($0.cursor) }
        )
        try use(queue)
        await queue.run()
        return (complaints.contents, cursors.contents)
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
}

/// Collects what a closure is called with, in order.
final class Box<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var contents: [Element] { self.elements.withLock { $0 } }

    func add(_ element: Element) { self.elements.withLock { $0.append(element) } }
}
