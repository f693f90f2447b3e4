import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A line of a server") struct ServerLineTests {
    @Test("is written again as it is read", arguments: [Fixture.replies, .watches, .descriptions])
    func isWrittenAgainAsItIsRead(_ examples: Fixture) throws {
        for line in try examples.lines() {
            #expect(try JSONValue(reading: line).text == line)
            #expect(Line(Array(line.utf8))?.text == line)
        }
    }

    /// Those that no recorded session has.
    @Test("is what the examples show, byte for byte") func isWhatTheExamplesShow() throws {
        let epoch = try #require(Epoch("7f3a9c"))
        let coding = StateCoding<AppState>()
        let late = ServerLine.Report(
            seq: 5120,
            fragment: coding.fragment(of: .dataRetrieval(.active)),
            at: try #require(WallTime(rfc3339: "2026-11-20T23:20:23.120007Z")),
            epoch: epoch
        )
        let change = ServerLine.change(
            ServerLine.Report(
                seq: 43,
                fragment: coding.fragment(of: .dataRetrieval(.failure)),
                at: try #require(WallTime(rfc3339: "2026-11-20T21:55:46.120007Z")),
                epoch: epoch
            ),
            from: coding.fragment(of: .ready(true)),
            .of(Peer(uid: 4_294_967_294, pid: 4711), because: "log/in: “é”\u{2028}")
        )
        let body = change.dropFirst(ChangeLine.head.count)
            .dropLast(ChangeLine.tail.utf8CodeUnitCount)
        let head = ChangeLine.head(id: .integer(2))
        let written =
            [
                change,
                head + body + ChangeLine.tail(skipped: 3, isReplayed: false),
                head + body + ChangeLine.tail(skipped: 3, isReplayed: true),
                ServerLine.state(id: nil, late, resync: .lagged, missed: 5077),
                ServerLine.state(
                    id: .integer(2),
                    late,
                    resync: .lagged,
                    missed: 5077,
                    isSelected: false
                ),
                ServerLine.progress(id: .integer(12), examined: 819_200, of: 4_000_000),
                ServerLine.bye(.restart) { $0.number("retryMs", 200) },
                ServerLine.bye(.limit) { writer in
                    writer.string("limit", "connectionsPerUid")
                    writer.number("max", 64)
                    writer.number("retryMs", 1000)
                },
            ] + (try self.outlines())
        let examples = try Fixture.watches.lines()
        for line in written {
            let text = String(decoding: line.dropLast(), as: UTF8.self)
            #expect(line.last == UInt8(ascii: "\n") && examples.contains(text), "\(text)")
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

    @Test("shows every error that can occur, in one example or another")
    func showsEveryError() throws {
        let lines = try Fixture.replies.lines() + Fixture.refusals.lines()
        for code in ErrorCode.allCases {
            // `internal` cannot occur as long as states are kept in memory only.
            let canOccur = code != .internal
            #expect(lines.contains { $0.contains("\"error\":\"\(code.rawValue)\"") } == canOccur)
        }
    }
}
