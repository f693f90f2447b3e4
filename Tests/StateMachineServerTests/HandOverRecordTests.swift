import FoundationEssentials
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// What one process leaves to the next, as it is written.
@Suite struct HandOverRecordTests {
    private func record(
        _ change: (inout HandOverRecord, inout HandOverRecord.Connection) -> Void = { _, _ in }
    ) throws -> HandOverRecord {
        var connection = HandOverRecord.Connection(
            socket: 7,
            door: .control,
            isOpen: true,
            input: Data(),
            unsent: Data([1]),
            unsentReplies: 1,
            outbox: [.init(bytes: Data([1]), replies: 1, mark: .start(0))],
            standing: [.init(.watch, []), .init(.wait, [1]), .init(.voter, [2])],
            program: Program(comm: "tool", unit: "x.service"),
            resyncs: 1,
            bytes: 1
        )
        var record = HandOverRecord(epoch: "0a", seq: 2, lastNumber: 1, connections: [])
        change(&record, &connection)
        record.connections = [connection]
        return record
    }

    @Test func aRecordComesBackAsItWas() throws {
        let record = try self.record()
        #expect(try HandOverRecord(decoding: record.encoded()) == record)
    }

    /// An earlier version began it, which had no least time.
    @Test func aWatchWithAShorterBeatThanIsTakenNowGoesOn() throws {
        let line = Array(#"{"op":"watch","id":7,"beatMs":50}"#.utf8)
        let request = try #require(Request(again: line))
        #expect(request.call == Request.watch(pace: Pace(beat: .milliseconds(50))).call)
    }

    @Test func aRecordIsRefusedWithNumbersThatCannotBe() throws {
        let forged = [
            try self.record { $1.unsentReplies = -1 },
            try self.record {
                $1.program = Program(comm: String(repeating: "a", count: 49), unit: nil)
            },
            try self.record {
                $1.program = Program(comm: nil, unit: String(repeating: "a", count: 321))
            },
            try self.record { $1.unsentReplies = .max },
            try self.record { $1.outbox[0].replies = .max },
            try self.record { $1.outbox[0].replies = .min },
            try self.record { $1.outbox[0].mark = .start(-1) },
            try self.record { $1.outbox[0].mark = .end(.max) },
            try self.record {
                var row = StandingRow(.history, [])
                row.cursor = .max
                $1.outbox[0].mark = .history(row)
            },
            try self.record { $1.standing[1].end = .max },
            try self.record { $1.standing[1].count = .max },
            try self.record { $1.standing[0].cursor = .max },
            try self.record { $1.standing[0].reported = .max },
            try self.record { $1.standing[1].leftMs = .max },
            try self.record { $1.standing[2].number = .max },
            try self.record { $1.resyncs = .max },
            try self.record { $1.bytes = .max },
            try self.record { record, _ in record.seq = .max },
            try self.record { record, _ in record.lastNumber = .max },
            try self.record { record, _ in record.epoch = "" },
        ]
        for record in forged {
            let bytes = try record.encoded()
            #expect(throws: DaemonError.self) { try HandOverRecord(decoding: bytes) }
        }
    }
}
