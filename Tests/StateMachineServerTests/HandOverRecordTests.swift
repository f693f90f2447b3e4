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
            standing: [
                .watch(WatchRow(line: Data(), cursor: 0, reported: 0, phase: .queued)),
                .wait(WaitRow(line: Data([1]), cursor: 0)),
                .voter(VoterRow(line: Data([2]), number: 0)),
            ],
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

    /// A record of this version, in which a row of each kind has what any kind has.
    private static let written = #"""
        {"version":4,"epoch":"0a","seq":5,"lastNumber":3,"connections":[{"socket":7,\#
        "door":"control","isOpen":true,"input":"","unsent":"","unsentReplies":0,\#
        "resyncs":0,"bytes":0,"outbox":[{"bytes":"AQ==","mark":{"start":{"_0":0}},\#
        "replies":1},{"bytes":"","mark":{"history":{"_0":{"count":1,"cursor":2,\#
        "end":5,"isEnding":false,"isToReplay":false,"kind":"history",\#
        "line":"aGlzdG9yeQ==","number":0,"phase":"queued","reported":0}}},\#
        "replies":1}],"standing":[{"count":0,"cursor":5,"declaration":"abcd","end":0,\#
        "isEnding":false,"isToReplay":false,"kind":"watch",\#
        "line":"eyJvcCI6IndhdGNoIiwiaWQiOjF9","number":0,"phase":"live","reported":4},\#
        {"count":0,"cursor":5,"end":0,"isEnding":false,"isToReplay":false,\#
        "kind":"wait","leftMs":900,"line":"d2FpdCB4","number":0,"phase":"queued",\#
        "reported":0,"resync":"evicted"},{"count":0,"cursor":0,"end":0,\#
        "isEnding":false,"isToReplay":false,"kind":"voter","line":"aG9sZCB4",\#
        "number":3,"phase":"queued","reported":0,"since":{"microseconds":0}}]}]}
        """#

    /// Every daemon of one version reads what another has left.
    @Test func aRecordIsReadAndWrittenInTheFormOfItsVersion() throws {
        let record = try HandOverRecord(decoding: Array(Self.written.utf8))
        let connection = try #require(record.connections.first)
        #expect(
            connection.standing == [
                .watch(
                    WatchRow(
                        line: Data(#"{"op":"watch","id":1}"#.utf8),
                        cursor: 5,
                        reported: 4,
                        phase: .live,
                        declaration: "abcd"
                    )
                ),
                .wait(
                    WaitRow(line: Data("wait x".utf8), cursor: 5, resync: .evicted, leftMs: 900)
                ),
                .voter(
                    VoterRow(
                        line: Data("hold x".utf8),
                        number: 3,
                        since: WallTime(microseconds: 0)
                    )
                ),
            ]
        )
        let history = HistoryRow(line: Data("history".utf8), cursor: 2, end: 5, count: 1)
        #expect(connection.outbox.last?.mark == .history(history))
        let again = String(decoding: try record.encoded(), as: UTF8.self)
        let (value, expected) = (JSONValue(parsing: again), JSONValue(parsing: Self.written))
        #expect(try #require(value).equals(try #require(expected)))
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
                $1.outbox[0].mark = .history(
                    HistoryRow(line: Data(), cursor: .max, end: 0, count: 0)
                )
            },
            try self.record {
                $1.outbox[0].mark = .history(
                    HistoryRow(line: Data(), cursor: 0, end: .max, count: 0)
                )
            },
            try self.record {
                $1.outbox[0].mark = .history(
                    HistoryRow(line: Data(), cursor: 0, end: 0, count: .max)
                )
            },
            try self.record {
                $1.standing[0] = .watch(
                    WatchRow(line: Data(), cursor: .max, reported: 0, phase: .queued)
                )
            },
            try self.record {
                $1.standing[0] = .watch(
                    WatchRow(line: Data(), cursor: 0, reported: .max, phase: .queued)
                )
            },
            try self.record {
                $1.standing[1] = .wait(WaitRow(line: Data([1]), cursor: 0, leftMs: .max))
            },
            try self.record { $1.standing[2] = .voter(VoterRow(line: Data([2]), number: .max)) },
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
