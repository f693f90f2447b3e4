import StateMachineCore
import StateMachineWire
import Testing

@Suite("A line that nobody asked for at that moment")
struct WatchLineTests {
    private let coding = StateCoding<AppState>()

    @Test("is what the examples show, byte for byte")
    func isWhatTheExamplesShow() throws {
        try Fixture.watches.expect(self.states() + self.changes() + self.farewells())
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
        let middle = theirs.dropFirst(ChangeLine.head.count)
        var replayed = ChangeLine.head(id: .string("a"))
        replayed += middle.dropLast(ChangeLine.tail.utf8CodeUnitCount)
        replayed.append(text: ChangeLine.replayTail)
        return [own, theirs, ChangeLine.head(id: .integer(1)) + middle, replayed]
    }

    private func farewells() -> [[UInt8]] {
        [
            ServerLine.bye(.shutdown),
            ServerLine.bye(.tooLong) { $0.number("max", RequestLimits.lineBytes) },
            ServerLine.bye(.limit) { writer in
                writer.string("limit", "connections")
                writer.number("max", 512)
                writer.number("retryMs", 1000)
            },
        ]
    }

    private func change(
        _ seq: UInt64,
        _ new: AppState,
        from old: AppState,
        cause: String? = nil,
        by: Peer? = nil
    ) throws -> [UInt8] {
        // Only a machine makes transitions; what it makes has its own seq and time.
        let machine = StateMachine<AppState>(old)
        guard
            case .committed(let transition) = try machine.propose(
                new,
                reenter: true,
                cause: cause,
                by: by
            )
        else { throw NotCommitted() }
        return ServerLine.change(
            try ServerLine.Report(seq, new),
            from: self.coding.fragment(of: old),
            transition
        )
    }

    private struct NotCommitted: Error {}
}
