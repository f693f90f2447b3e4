import Foundation
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineServer

/// `ifSeq` and `ifStay` with a cursor, which says of which numbering the number is.
@Suite(.bounded) struct CursorConditionTests {
    private static let machine = """
        start: idle
        to: [idle, busy]
        events: {go: {}}
        states:
          idle: {when: {go: busy}}
          busy: {run: /bin/work, done: idle, fields: {tries: {type: integer, default: 0}}, when: {go: busy}}
        """

    /// What changes a machine that is busy, each with room for a condition.
    private static let calls = [
        #"{"op":"set","state":"busy","data":{"tries":1}"#,
        #"{"op":"send","event":"go""#,
        #"{"op":"update","add":{"tries":1}"#,
        #"{"op":"send","event":"run.ended","data":{"exit":0}"#,
    ]

    /// `busy` again, as after one of ``calls``.
    private static let again = #"{"op":"set","state":"busy","reenter":true}"#

    @Test(arguments: calls) func aCursorOfThisNumberingCountsAsItsNumber(call: String) async throws
    {
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let here = try await daemon.ask(Self.again)
            let (cursor, seq) = (try #require(here.string("cursor")), try #require(here.seq))
            let before = cursor.replacing(":\(seq)", with: ":\(seq - 1)")
            for key in ["ifStay", "ifSeq"] where !call.contains("run.ended") || key == "ifStay" {
                let refused = try await daemon.ask("\(call),\"\(key)\":\"\(before)\"}")
                #expect(refused.error == "conflict" && refused.seq == seq)
                #expect(refused.string("message")?.hasPrefix("expected s") == true)
            }
            #expect(
                try await daemon.ask("\(call),\"ifStay\":\"\(cursor)\"}").bool("changed") == true
            )
            // The number alone is one of whatever numbering.
            let next = try #require(try await daemon.ask(Self.again).seq)
            #expect(try await daemon.ask("\(call),\"ifStay\":\(next)}").bool("changed") == true)
        }
    }

    @Test(arguments: calls) func aCursorOfAnotherNumberingIsAConflict(call: String) async throws {
        let cursors = Recorder<String>()
        try await DeclaredDaemon.run(Self.machine) { daemon in
            cursors.record(try #require(try await daemon.ask(Self.again).string("cursor")))
        }
        // Without a history the next daemon numbers from 0 again.
        try await DeclaredDaemon.run(Self.machine) { daemon in
            let here = try await daemon.ask(Self.again)
            for cursor in cursors.heard + ["1", "", "7f3a9c", "x:1", "7f3a9c:01"] {
                let refused = try await daemon.ask("\(call),\"ifStay\":\"\(cursor)\"}")
                #expect(refused.error == "conflict" && refused.seq == here.seq, "\(refused)")
                #expect(
                    refused.string("message")
                        == "expected stay \"\(cursor)\", which is no change of this numbering, "
                        + "but the state is busy(tries: 0) at seq 1"
                )
            }
            #expect(try await daemon.ask("get").seq == here.seq)
        }
    }

    /// An older copy of the history is put back: the numbering after it is another one, and continues
    /// what the copy has.
    @Test func aCursorOfANumberingThatIsContinuedCountsUpToItsEnd() async throws {
        try await DeclaredMachine.with(Self.machine) { machine in
            let cursors = Recorder<String>()
            let enter: @Sendable (DeclaredDaemon) async throws -> Void = { daemon in
                cursors.record(try #require(try await daemon.ask(Self.again).string("cursor")))
            }
            let (file, copy) = ("\(machine.state)/statemachine.sqlite", "\(machine.directory)/copy")
            try await machine.run(enter)
            try await DeclaredDaemon.awaitRelease(of: machine.state)
            try FileManager.default.copyItem(atPath: file, toPath: copy)
            try await machine.run(enter)
            try await DeclaredDaemon.awaitRelease(of: machine.state)
            for suffix in ["", "-wal", "-shm"]
            where FileManager.default.fileExists(atPath: file + suffix) {
                try FileManager.default.removeItem(atPath: file + suffix)
            }
            try FileManager.default.copyItem(atPath: copy, toPath: file)
            try await machine.run { daemon in
                let (kept, lost) = (cursors.heard[0], cursors.heard[1])
                #expect(try await daemon.ask("get").string("cursor") != kept)
                for key in ["ifStay", "ifSeq"] {
                    let call = #"{"op":"set","state":"busy","data":{"tries":0},"\#(key)":""#
                    #expect(try await daemon.ask("\(call)\(kept)\"}").bool("changed") == false)
                    // Of that number, and of what became of it elsewhere.
                    #expect(try await daemon.ask("\(call)\(lost)\"}").error == "conflict")
                }
                _ = try await daemon.ask(Self.again)
                let ended = #"{"op":"send","event":"run.ended","data":{"exit":0},"ifStay":"#
                #expect(try await daemon.ask("\(ended)\"\(lost)\"}").error == "conflict")
                #expect(try await daemon.ask("\(ended)2}").string("state") == "idle")
            }
        }
    }
}
