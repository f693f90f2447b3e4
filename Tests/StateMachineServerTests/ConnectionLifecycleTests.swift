import FoundationEssentials
import NIOCore
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// A connection's life as scripts of events and actions.
@Suite struct ConnectionLifecycleTests {
    @Test func aClientThatHasSaidAllIsServedToTheEnd() {
        var life = ConnectionLifecycle()
        #expect(life.flushed(hasPending: false, hasSeenEOF: false) == .ignore)
        #expect(life.inputEnded() == .endImplicitWatch)
        #expect(life.isListening)
        #expect(life.flushed(hasPending: true, hasSeenEOF: true) == .ignore)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .close)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .ignore)
    }

    @Test func aClientThatIsSentAwayMayReadWhatItWasSent() {
        var life = ConnectionLifecycle()
        #expect(life.leave() == true)
        #expect(!life.isListening)
        #expect(life.leave() == false)
        #expect(life.flushed(hasPending: true, hasSeenEOF: false) == .linger)
        #expect(life.inputEnded() == .close)
    }

    @Test func aClientThatHasEndedAlreadyIsNotWaitedFor() {
        var life = ConnectionLifecycle()
        #expect(life.inputEnded() == .endImplicitWatch)
        #expect(life.leave() == true)
        #expect(life.flushed(hasPending: true, hasSeenEOF: true) == .close)
    }

    @Test func nothingFollowsTheEnd() {
        var life = ConnectionLifecycle()
        #expect(life.end() == false)
        #expect(life.leave() == false)
        #expect(life.inputEnded() == .ignore)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .ignore)
    }

    @Test func whatAClientThatIsGoneHasSentIsCarriedOutIfItWasServed() {
        var life = ConnectionLifecycle()
        life.admitted()
        #expect(life.isWaiting && !life.isServing)
        #expect(life.timeCame() == true)
        #expect(life.place == .served && life.isServing)
        #expect(life.vanished(hasRequests: true) == true)
        #expect(life.isGone && life.isListening && life.isServing)
        #expect(life.leave() == false)
        #expect(life.end() == false)
        #expect(life.end() == true)
        #expect(!life.isServing)
    }

    @Test func whoIsGoneBeforeItsTimeIsForgotten() {
        var life = ConnectionLifecycle()
        life.admitted()
        #expect(life.vanished(hasRequests: true) == false)
        #expect(life.end() == false)
        #expect(life.timeCame() == false)
        #expect(life.place == .waiting)
    }

    private func text(_ next: Input.Next) -> String? {
        guard case .line(let line) = next else { return nil }
        return String(buffer: line)
    }

    @Test("input is taken line by line, however it came") func isTakenLineByLine() {
        var lines = Input()
        lines.received(ByteBuffer(string: "on"))
        #expect(self.text(lines.next()) == nil)
        lines.received(ByteBuffer(string: "e\ntwo\n\nth"))
        #expect(self.text(lines.next()) == "one")
        #expect(self.text(lines.next()) == "two")
        #expect(self.text(lines.next()) == "")
        #expect(self.text(lines.next()) == nil)
        #expect(lines.hasBytes)
        lines.received(ByteBuffer(string: "ree\n"))
        #expect(self.text(lines.next()) == "three")
        #expect(!lines.hasBytes)
    }

    @Test("input is not kept once it was taken, though no read ends with a line")
    func isNotKeptOnceItWasTaken() {
        var lines = Input()
        let line = String(repeating: "x", count: 60_000)
        lines.received(ByteBuffer(string: "x"))
        for _ in 0..<1000 {
            lines.received(ByteBuffer(string: "\n\(line)"))
            #expect(self.text(lines.next()) != nil)
        }
        #expect(lines.capacity <= 512 * 1024)
    }

    @Test("input takes no room once all of it was taken") func takesNoRoomOnceAllOfItWasTaken() {
        var lines = Input()
        lines.received(ByteBuffer(string: String(repeating: "x", count: 60_000) + "\n"))
        #expect(self.text(lines.next()) != nil)
        #expect(self.text(lines.next()) == nil)
        #expect(lines.capacity == 0)
    }

    @Test("input comes again where it was put back") func comesAgainWhereItWasPutBack() {
        var lines = Input()
        lines.received(ByteBuffer(string: "one\ntwo\nth"))
        #expect(self.text(lines.next()) == "one")
        lines.putBack()
        #expect(lines.isPutBack && lines.hasLine && lines.hasUnseen)
        lines.received(ByteBuffer(string: "ree\n"))
        #expect(String(lines.bytes.map { Character(Unicode.Scalar($0)) }) == "one\ntwo\nthree\n")
        #expect(self.text(lines.next()) == "one")
        #expect(!lines.isPutBack)
        #expect(self.text(lines.next()) == "two")
        #expect(self.text(lines.next()) == "three")
        #expect(!lines.hasBytes)
    }

    @Test(arguments: [
        ("0::/system.slice/deploy.service\n", "deploy.service"),
        ("0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope"),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n",
            "user@1000.service/x.service"
        ),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.slice/x.scope\n",
            "user@1000.service/x.scope"
        ),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/init.scope\n",
            "user@1000.service/init.scope"
        ),
        ("0::/user.slice/user-1000.slice/user@1000.service\n", "user@1000.service"),
        // Containers: the host's unit; what runs inside it is the container's own business.
        ("0::/system.slice/docker-0f.scope\n", "docker-0f.scope"),
        (
            "0::/machine.slice/machine-web.scope/payload/system.slice/nginx.service\n",
            "machine-web.scope"
        ),
        ("0::/../../system.slice/deploy.service\n", "deploy.service"),
        // Below a unit that has control groups of its own.
        ("0::/system.slice/deploy.service/worker\n", "deploy.service"),
        ("0::/system.slice/_cpu.service\n", "cpu.service"),
        // On a system with old control groups, and with both kinds.
        ("5:cpu:/x\n1:name=systemd:/system.slice/old.service\n", "old.service"),
        ("1:name=systemd:/a.slice/b.service\n0::/a.slice/c.service\n", "c.service"),
        ("0::/init.scope\n", "init.scope"),
    ])
    func theUnitIsTheFirstThatIsNoSlice(groups: String, unit: String) {
        #expect(ControlGroup.unit(in: groups) == unit)
    }

    @Test(arguments: [
        "", "0::/\n", "0::/docker/0f3b\n", "0::/system.slice\n", "0::\n",
        "5:cpu:/system.slice/x.service\n",
        "0::/system.slice/" + String(repeating: "a", count: 400) + ".service\n",
    ])
    func whatIsInNoUnitHasNone(groups: String) {
        #expect(ControlGroup.unit(in: groups) == nil)
    }

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
