import StateMachineProtocol
import Testing

@Suite("A cursor") struct CursorTests {
    @Test("comes back as it was given", arguments: [0, 1, 41, (1 << 53) - 1] as [UInt64])
    func comesBack(_ seq: UInt64) throws {
        let cursor = Cursor(epoch: Epoch.random(), seq: seq)
        #expect(Cursor(cursor.description) == cursor)
        #expect(cursor.description == "\(cursor.epoch):\(seq)")
    }

    @Test("of another daemon may have a shorter epoch") func mayHaveAShorterEpoch() throws {
        let cursor = try #require(Cursor("7f3a9c:41"))
        #expect(cursor.epoch == Epoch("7f3a9c"))
        #expect(cursor.seq == 41)
    }

    @Test(
        "is nothing else",
        arguments: [
            "", ":", "41", "7f3a9c", "7f3a9c:", ":41", "7f3a9c:-1", "7f3a9c:+1", "7f3a9c:1.0",
            "7f3a9c:0x1", "7f3a9c: 1", " 7f3a9c:1", "7f3a9c:1 ", "7f3a9c:1:2", "7f3a9c:١",
            "7f3a9g:1", "7f3a9c:9007199254740992", "7f3a9c:18446744073709551616",
            "000000000000000000000000000000000:1", "７f:1",
        ]
    )
    func isNothingElse(_ text: String) {
        #expect(Cursor(text) == nil)
    }

    @Test("has an epoch of eight hexadecimal digits that is drawn anew") func hasARandomEpoch() {
        let epochs = Set((0..<64).map { _ in Epoch.random().description })
        #expect(epochs.count > 1)
        #expect(epochs.allSatisfy { $0.utf8.count == 8 && Epoch($0)?.description == $0 })
    }
}
