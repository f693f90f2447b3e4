import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A line that nobody asked for at that moment")
struct WatchLineTests {
    private let coding = StateCoding<AppState>()

    @Test("is what the examples show, byte for byte")
    func isWhatTheExamplesShow() throws {
        try Fixture.watches.expect(
            self.states() + self.changes() + self.signs() + self.outlines()
                + [ServerLine.progress(id: .integer(12), examined: 819_200, of: 4_000_000)]
                + self.farewells()
        )
    }

    @Test("about a change is the same for all watches between its head and its tail")
    func sharesItsMiddle() throws {
        let line = try self.change(42, .ready(true), from: .authentication(.active))
        #expect(line.starts(with: ChangeLine.head))
        #expect(line.suffix(ChangeLine.tail.utf8CodeUnitCount).elementsEqual("}\n".utf8))
        #expect(ChangeLine.head(id: .integer(7)) == Array(#"{"type":"change","id":7"#.utf8))
        let last = line[line.count - ChangeLine.tail.utf8CodeUnitCount - 1]
        #expect(last == UInt8(ascii: "\""))
    }

    @Test("that stands for no others ends as the shared line or a replayed one does")
    func endsAsSharedIfItStandsForNoOthers() {
        func bytes(_ text: StaticString) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes += text.description.utf8
            return bytes
        }
        let live = ChangeLine.tail(skipped: 0, isReplayed: false)
        #expect(live == bytes(ChangeLine.tail))
        let replayed = ChangeLine.tail(skipped: 0, isReplayed: true)
        #expect(replayed == bytes(ChangeLine.replayTail))
        let newest = ChangeLine.tail(skipped: .max, isReplayed: true)
        #expect(newest == Array(",\"skipped\":18446744073709551615,\"replay\":true}\n".utf8))
    }

    @Test("about an outline is read as it was written")
    func readsOutlines() throws {
        for bytes in try self.outlines() {
            let outline = try #require(Line(bytes.dropLast()).flatMap { TransitionOutline($0) })
            #expect(
                ServerLine.outline(
                    id: Line(bytes.dropLast())?.id,
                    outline,
                    in: try #require(Epoch("7f3a9c"))
                ) == bytes
            )
        }
        let wrong =
            #"{"type":"outline","seq":1,"at":"2026-11-20T21:55:45.120007Z","states":["a"],"changes":"#
        // The last two are no times: their sum is beyond any clock, or any integer.
        for changes in [
            "[1,0]", "[0]", "[0,true]", "{}", "[0,9000000000000000000]",
            "[0,9223372036854775807,0,9223372036854775807]",
        ] {
            let line = try #require(Line(Array("\(wrong)\(changes)}".utf8)))
            #expect(TransitionOutline(line) == nil)
        }
    }

    private func outlines() throws -> [[UInt8]] {
        let at = try #require(WallTime(rfc3339: "2026-11-20T21:55:45.120007Z"))
        func later(_ microseconds: Int64) -> WallTime {
            WallTime(microseconds: at.microseconds + microseconds)
        }
        var one = TransitionOutline(from: 42)
        one.append("ready", at: at, isSameStay: false)
        one.append("dataRetrieval", at: later(1_000_000), isSameStay: false)
        var other = TransitionOutline(from: 7)
        other.append("a \"b\"", at: at, isSameStay: true)
        other.append("a \"b\"", at: later(250), isSameStay: false)
        other.append("a \"b\"", at: later(245), isSameStay: true)
        let epoch = try #require(Epoch("7f3a9c"))
        return [
            ServerLine.outline(id: .integer(12), one, in: epoch),
            ServerLine.outline(id: nil, other, in: epoch),
        ]
    }

    private func states() throws -> [[UInt8]] {
        let start = try ServerLine.Report(0, .ready(false))
        let ready = try ServerLine.Report(42, .ready(true))
        let late = try ServerLine.Report(5120, .dataRetrieval(.active))
        return [
            ServerLine.state(id: nil, start),
            ServerLine.state(id: .integer(1), ready),
            ServerLine.state(id: .string("1"), start),
            ServerLine.state(id: .integer(2), late, resync: .restarted),
            ServerLine.state(id: .integer(2), late, resync: .unknown),
            ServerLine.state(id: .integer(2), late, resync: .evicted, missed: 5080),
            ServerLine.state(id: nil, late, resync: .lagged, missed: 5077),
            ServerLine.live(id: .integer(2), late),
            ServerLine.live(id: nil, late),
            ServerLine.state(id: .integer(2), late, isSelected: false),
            ServerLine.state(
                id: .integer(2),
                late,
                resync: .lagged,
                missed: 5077,
                isSelected: false
            ),
            ServerLine.live(id: .integer(2), late, isSelected: false),
        ]
    }

    private func changes() throws -> [[UInt8]] {
        let own = try self.change(42, .ready(true), from: .authentication(.active))
        let theirs = try self.change(
            43,
            .dataRetrieval(.failure),
            from: .ready(true),
            cause: "log/in: “é”\u{2028}",
            by: Peer(uid: 4_294_967_294, pid: 4711)
        )
        func body(of line: [UInt8]) -> ArraySlice<UInt8> {
            line.dropFirst(ChangeLine.head.count).dropLast(ChangeLine.tail.utf8CodeUnitCount)
        }
        func replayed(_ line: [UInt8], _ id: RequestID) -> [UInt8] {
            var replayed = ChangeLine.head(id: id) + body(of: line)
            replayed += ChangeLine.replayTail.description.utf8
            return replayed
        }
        func collapsed(_ skipped: UInt64, isReplayed: Bool) -> [UInt8] {
            ChangeLine.head(id: .integer(2)) + body(of: theirs)
                + ChangeLine.tail(skipped: skipped, isReplayed: isReplayed)
        }
        return [
            own, theirs,
            ChangeLine.head(id: .integer(1)) + theirs.dropFirst(ChangeLine.head.count),
            replayed(theirs, .string("a")),
            collapsed(0, isReplayed: true), collapsed(3, isReplayed: false),
            collapsed(3, isReplayed: true),
            replayed(own, .integer(12)), replayed(theirs, .integer(12)),
        ]
    }

    /// Beats, and questions to a guard.
    private func signs() throws -> [[UInt8]] {
        let late = try ServerLine.Report(5120, .dataRetrieval(.active))
        let active = try ServerLine.Report(43, .authentication(.active))
        let idle = self.coding.fragment(of: .authentication(.idle))
        let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        return [
            ServerLine.beat(id: .integer(2), late),
            ServerLine.beat(id: nil, late),
            ServerLine.beat(id: .integer(2), late, isSelected: false),
            ServerLine.declared(
                id: .integer(2),
                seq: 43,
                hash: hash,
                version: "1.4",
                cursor: Cursor(epoch: active.epoch, seq: 43)
            ),
            ServerLine.declared(
                id: nil,
                seq: 43,
                hash: hash,
                version: nil,
                cursor: Cursor(epoch: late.epoch, seq: 5120)
            ),
            ServerLine.ask(
                id: .integer(9),
                number: 11,
                active,
                to: idle,
                by: Peer(uid: 1000, pid: 4711),
                cause: "logout",
                leftMs: 1000
            ),
            ServerLine.ask(
                id: nil,
                number: 12,
                active,
                to: idle,
                by: nil,
                cause: nil,
                leftMs: 60_000
            ),
        ]
    }

    private func farewells() -> [[UInt8]] {
        [
            ServerLine.bye(.shutdown),
            ServerLine.bye(.restart) { $0.number("retryMs", 200) },
            ServerLine.bye(.tooLong) { $0.number("max", RequestLimits.lineBytes) },
            self.turnedAway("connections", 496),
            self.turnedAway("connectionsPerUid", 64),
            ServerLine.bye(.refused) { writer in
                writer.string(
                    .message,
                    "/etc/statemachine/config.yaml:1: there is no setting \"nokey\""
                )
                writer.number("retryMs", 5000)
            },
        ]
    }

    private func turnedAway(_ limit: String, _ places: Int) -> [UInt8] {
        ServerLine.bye(.limit) { writer in
            writer.string("limit", limit)
            writer.number("max", places)
            writer.number("retryMs", 1000)
        }
    }

    private func change(
        _ seq: UInt64,
        _ new: AppState,
        from old: AppState,
        cause: String? = nil,
        by: Peer? = nil
    ) throws -> [UInt8] {
        return ServerLine.change(
            try ServerLine.Report(seq, new),
            from: self.coding.fragment(of: old),
            by: by,
            cause: cause
        )
    }
}
