import NIOCore
import Testing

@testable import StateMachineServer

@Suite("What a client has sent")
struct InboundLinesTests {
    private func text(_ next: InboundLines.Next) -> String? {
        guard case .line(let line) = next else { return nil }
        return String(buffer: line)
    }

    @Test("is taken line by line, however it came")
    func isTakenLineByLine() {
        var lines = InboundLines()
        lines.append(ByteBuffer(string: "on"))
        #expect(self.text(lines.next()) == nil)
        lines.append(ByteBuffer(string: "e\ntwo\n\nth"))
        #expect(self.text(lines.next()) == "one")
        #expect(self.text(lines.next()) == "two")
        #expect(self.text(lines.next()) == "")
        #expect(self.text(lines.next()) == nil)
        #expect(lines.hasBytes)
        lines.append(ByteBuffer(string: "ree\n"))
        #expect(self.text(lines.next()) == "three")
        #expect(!lines.hasBytes)
    }

    @Test("is not kept once it was taken, though no read ends with a line")
    func isNotKeptOnceItWasTaken() {
        var lines = InboundLines()
        let line = String(repeating: "x", count: 60_000)
        lines.append(ByteBuffer(string: "x"))
        for _ in 0..<1000 {
            lines.append(ByteBuffer(string: "\n\(line)"))
            #expect(self.text(lines.next()) != nil)
        }
        #expect(lines.capacity <= 512 * 1024)
    }

    @Test("takes no room once all of it was taken")
    func takesNoRoomOnceAllOfItWasTaken() {
        var lines = InboundLines()
        lines.append(ByteBuffer(string: String(repeating: "x", count: 60_000) + "\n"))
        #expect(self.text(lines.next()) != nil)
        #expect(self.text(lines.next()) == nil)
        #expect(lines.capacity == 0)
    }
}
