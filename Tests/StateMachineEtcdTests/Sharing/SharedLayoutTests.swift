#if Cluster
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineEtcd

/// Keys and values of a shared machine: written, read again, and what stands there that nobody has written.
@Suite struct SharedLayoutTests {
    private let keys = SharedKeys(machine: "lamp")
    private let epoch = Epoch("0123abcd") ?? .random()
    private var change: SharedChange {
        SharedChange(
            "on",
            ["percent": 50],
            at: WallTime(microseconds: 1_700_000_000_000_007),
            stay: 9,
            by: ["host": "a", "uid": 1000],
            cause: "it is \"dark\"",
            isForced: true
        )
    }

    private func subject(_ key: String) -> SharedKeys.Subject? {
        self.keys.subject(of: Array(key.utf8))
    }

    @Test func aKeyIsReadAsItIsWritten() {
        #expect(self.keys.head == "/statemachine/v1/lamp/head")
        #expect(
            self.keys.block(self.epoch, first: 255)
                == "/statemachine/v1/lamp/log/0123abcd/00000000000000ff"
        )
        #expect(self.subject(self.keys.head) == .head)
        #expect(self.subject(self.keys.settings) == .settings)
        #expect(
            self.subject(self.keys.block(self.epoch, first: 255)) == .block(self.epoch, first: 255)
        )
        #expect(self.subject(self.keys.host("a-1.b")) == .host("a-1.b"))
        #expect(self.subject(self.keys.voter(.init("a", 7))) == .voter(.init("a", 7)))
        #expect(self.subject(self.keys.ticket(.init("a-0", 1))) == .ticket(.init("a-0", 1)))
    }

    @Test(arguments: [
        "", "/statemachine/v1/lamp/", "/statemachine/v1/lamps/head", "/statemachine/v1/lamp/head/",
        "/statemachine/v1/lamp/log/0123abcd/ff",
        "/statemachine/v1/lamp/log/0123abcd/00000000000000FF",
        "/statemachine/v1/lamp/log/0123abcd/+0000000000000ff",
        "/statemachine/v1/lamp/log/0123abcd/ffffffffffffffff",
        "/statemachine/v1/lamp/log/wide/00000000000000ff",
        "/statemachine/v1/lamp/log/0123abcd/00000000000000ff/x", "/statemachine/v1/lamp/hosts/",
        "/statemachine/v1/lamp/voters/a/07",
        "/statemachine/v1/lamp/voters/a/-1", "/statemachine/v1/lamp/voters//1",
        "/statemachine/v1/lamp/queue/a", "/statemachine/v1/lamp/queue/-0",
        "/statemachine/v1/lamp/queue/a-2", "/statemachine/v1/lamp/later/a",
    ])
    func aKeyThatNobodyWritesIsPassedOver(_ key: String) { #expect(self.subject(key) == nil) }

    @Test func aKeyThatIsNoTextIsPassedOver() {
        #expect(self.keys.subject(of: Array(self.keys.host("").utf8) + [0xff]) == nil)
    }

    @Test func rangesOfTheLogHaveWholeBlocks() {
        func has(_ range: KeyRange, _ first: UInt64) -> Bool {
            range.contains(Array(self.keys.block(self.epoch, first: first).utf8))
        }
        let other = Array(self.keys.block(Epoch("0123abce") ?? .random(), first: 3).utf8)
        #expect(has(self.keys.blocks(of: self.epoch), 1))
        #expect(!self.keys.blocks(of: self.epoch).contains(other))
        #expect(!has(self.keys.blocks(of: self.epoch, from: 3), 2))
        #expect(has(self.keys.blocks(of: self.epoch, from: 3), 3))
        #expect(has(self.keys.blocks(of: self.epoch, from: 3), 1 << 52))
        #expect(!self.keys.blocks(of: self.epoch, from: 3).contains(other))
        #expect(has(self.keys.blocks(of: self.epoch, before: 3), 2))
        #expect(!has(self.keys.blocks(of: self.epoch, before: 3), 3))
    }

    @Test func aValueIsReadAsItIsWritten() throws {
        let head = Head(
            self.epoch,
            after: [Epoch("00") ?? .random()],
            seq: 9,
            block: 4,
            last: self.change,
            form: "f"
        )
        #expect(try Head(reading: head.bytes) == head)
        let author = Block.Author("a", session: 0x7fff_ffff_ffff_ffff, attempt: 3)
        let block = Block(
            first: 8,
            by: author,
            [self.change, SharedChange("off", [:], at: self.change.at, stay: 9)]
        )
        #expect(try Block(reading: block.bytes) == block)
        #expect(block.last == 9)
        let settings = SharedSettings(keepChanges: 20)
        #expect(try SharedSettings(reading: settings.bytes) == settings)
        let host = HostRecord(
            instance: "i",
            boot: "b",
            version: "1",
            layouts: 1...2,
            form: "f",
            declaration: "d",
            session: 255,
            secondsToLive: 10,
            seq: 3,
            wall: self.change.at
        )
        #expect(try HostRecord(reading: host.bytes) == host)
    }

    @Test func timesAreReadAsTheyAreWritten() throws {
        let since = WallTime(microseconds: 1_700_000_100_000_001)
        let times = StayTimes(
            of: 9,
            since: since,
            knowing: [
                KnownTime("1h", group: nil, value: nil, hasPassed: true),
                KnownTime("{delay}", group: nil, value: .integer(90_000)),
                KnownTime("open/30d", group: 4, value: nil),
                KnownTime("open/{until}", group: 4, value: .string("2030-01-01T00:00:00Z")),
            ]
        ) { _ in self.change.at }
        #expect(times.start.start(ofGroupAt: 4).moment.wall == self.change.at)
        let author = Block.Author("a", session: 7, attempt: 3)
        let head = Head(
            self.epoch,
            seq: 9,
            block: 4,
            last: self.change.renewed(times),
            by: author,
            form: "f"
        )
        let read = try Head(reading: head.bytes)
        #expect(read == head)
        #expect(read.author == author)
        #expect(read.last.times.entered == since)
        #expect(read.last != self.change)
        let text = String(decoding: head.bytes, as: UTF8.self)
        #expect(
            text.contains(
                #"{"key":"open/30d","group":4,"entered":"2023-11-14T22:13:20.000007Z"}"#
            ),
            "\(text)"
        )
        // What other members say is not said again.
        let plain = String(
            decoding: Block(first: 9, by: author, [self.change]).bytes,
            as: UTF8.self
        )
        #expect(!plain.contains("entered") && !plain.contains("deadlines"))
    }

    @Test func whatALaterProgramAddsIsPassedOver() throws {
        #expect(
            try SharedSettings(reading: Array(#"{"keepChanges":1,"layout":2,"later":[{}]}"#.utf8))
                .layout == 2
        )
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"keepChanges\":1}", "{\"keepChanges\":-1,\"layout\":1}",
        "{\"keepChanges\":1.5,\"layout\":1}",
        "{\"keepChanges\":9007199254740992,\"layout\":1}", "{\"keepChanges\":\"1\",\"layout\":1}",
        "{\"keepChanges\":1,\"layout\":1,\"layout\":1}", "{\"keepChanges\":1,\"layout\":1}x",
        "\u{0}",
    ])
    func oddSettingsAreRefused(_ text: String) {
        #expect(throws: Malformed.self) { try SharedSettings(reading: Array(text.utf8)) }
    }

    /// Each member of a head, and of a block, in another kind, and left out.
    @Test func aMemberOfAnotherKindIsRefused() throws {
        let head = Head(self.epoch, seq: 9, block: 4, last: self.change, form: "f")
        let block = Block(first: 8, by: .init("a", session: 1, attempt: 3), [self.change])
        for key in head.members.map(\.key) where !["by", "cause", "forced"].contains(key) {
            #expect(throws: Malformed.self) {
                try Head(reading: Self.bytes(head.members, without: key))
            }
        }
        for key in head.members.map(\.key) {
            #expect(throws: Malformed.self) {
                try Head(reading: Self.bytes(head.members, without: key, adding: .null))
            }
        }
        for key in block.members.map(\.key) {
            #expect(throws: Malformed.self) {
                try Block(reading: Self.bytes(block.members, without: key))
            }
            #expect(throws: Malformed.self) {
                try Block(reading: Self.bytes(block.members, without: key, adding: []))
            }
        }
        #expect(throws: Malformed.self) {
            try Head(reading: Self.bytes(head.members, without: "stay", adding: 10))
        }
        #expect(throws: Malformed.self) {
            try Block(reading: Self.bytes(block.members, without: "first", adding: 0))
        }
        #expect(Block(at: 8, block.bytes) == block)
        #expect(Block(at: 7, block.bytes) == nil)
    }

    private static func bytes(
        _ members: [JSONMember],
        without key: String,
        adding value: JSONValue? = nil
    ) -> [UInt8] {
        let rest = members.filter { $0.key != key } + (value.map { [JSONMember(key, $0)] } ?? [])
        return Array(JSONValue.object(rest).description.utf8)
    }
}
#endif
