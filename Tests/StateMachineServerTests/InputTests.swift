import NIOCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineServer

/// What a client has sent, line by line.
@Suite("input", .bounded) struct InputTests {
    /// Takes the next line, whatever it asks for.
    private func text(_ lines: inout Input) -> String? {
        guard case .line(let length) = lines.next() else { return nil }
        _ = try? lines.takeRequest(length)
        return String(buffer: lines.line)
    }

    @Test("is taken line by line, however it came") func isTakenLineByLine() {
        var lines = Input()
        lines.received(ByteBuffer(string: "on"))
        #expect(self.text(&lines) == nil)
        lines.received(ByteBuffer(string: "e\ntwo\n\nth"))
        #expect(self.text(&lines) == "one")
        #expect(self.text(&lines) == "two")
        #expect(self.text(&lines) == "")
        #expect(self.text(&lines) == nil)
        #expect(lines.hasBytes)
        lines.received(ByteBuffer(string: "ree\n"))
        #expect(self.text(&lines) == "three")
        #expect(!lines.hasBytes)
    }

    @Test("is not kept once it was taken, though no read ends with a line")
    func isNotKeptOnceItWasTaken() {
        var lines = Input()
        let line = String(repeating: "x", count: 60_000)
        lines.received(ByteBuffer(string: "x"))
        for _ in 0..<1000 {
            lines.received(ByteBuffer(string: "\n\(line)"))
            #expect(self.text(&lines) != nil)
        }
        #expect(lines.capacity <= 512 * 1024)
    }

    @Test("takes no room once all of it was taken") func takesNoRoomOnceAllOfItWasTaken() {
        var lines = Input()
        lines.received(ByteBuffer(string: String(repeating: "x", count: 60_000) + "\n"))
        #expect(self.text(&lines) != nil)
        #expect(self.text(&lines) == nil)
        #expect(lines.capacity == 0)
    }

    @Test("comes again where it was put back") func comesAgainWhereItWasPutBack() {
        var lines = Input()
        lines.received(ByteBuffer(string: "one\ntwo\nth"))
        #expect(self.text(&lines) == "one")
        lines.putBack()
        #expect(lines.isPutBack && lines.hasLine && lines.hasUnseen)
        lines.received(ByteBuffer(string: "ree\n"))
        #expect(String(lines.bytes.map { Character(Unicode.Scalar($0)) }) == "one\ntwo\nthree\n")
        #expect(self.text(&lines) == "one")
        #expect(!lines.isPutBack)
        #expect(self.text(&lines) == "two")
        #expect(self.text(&lines) == "three")
        #expect(!lines.hasBytes)
    }

    @Test("a line that is too long is dropped, and so is what was there")
    func isDroppedIfItIsTooLong() {
        let length = RequestLimits.lineBytes
        for (excess, isTooLong) in [(0, false), (1, true)] {
            var lines = Input()
            lines.received(ByteBuffer(repeating: UInt8(ascii: "x"), count: length + excess))
            lines.received(ByteBuffer(string: "\nping\n"))
            if case .tooLong = lines.next() {
                #expect(isTooLong && !lines.hasBytes)
            } else {
                #expect(!isTooLong && self.text(&lines)?.utf8.count == length)
                #expect(self.text(&lines) == "ping")
            }
        }
    }

    @Test("what a client has sent is charged to its user until it is carried out, or dropped")
    func isCharged() async throws {
        try await LoneServer.run { lone in
            lone.send(raw: "ping\npi")
            #expect(lone.line().contains(#""seq":0"#))
            let user = try await lone.onLoop { server in
                let user = try #require(server.clients.first { _ in true }).user
                #expect(user.inputBytes == 2)
                return NIOLoopBound(user, eventLoop: server.loop)
            }
            lone.send(raw: "ng\n")
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { _ in #expect(user.value.inputBytes == 0) }
            lone.send(raw: String(repeating: "x", count: 70_000))
            #expect(lone.line().contains(#""reason":"too-long""#))
            try await lone.onLoop { _ in #expect(user.value.inputBytes == 0) }
        }
    }
}
