#if Cluster
import NIOCore
import NIOHPACK
import TestSupport
import Testing

@testable import StateMachineEtcd

@Suite("Whatever an engine sends") struct EtcdFuzzTests {
    @Test("is a message or none", arguments: [1, 2, 3, 4] as [UInt64])
    func isAMessageOrNone(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<4000 {
            let count = Int.random(in: 0...60, using: &generator)
            self.read((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
    }

    @Test("even if it was one once", arguments: [5, 6, 7, 8] as [UInt64])
    func evenIfItWasOneOnce(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let messages = try RecordedSession().exchanges.flatMap { $0.received + $0.sent }
        var whole = 0
        for _ in 0..<8000 {
            guard var message = messages.randomElement(using: &generator) else { continue }
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                self.mutate(&message, from: messages, using: &generator)
            }
            whole += self.read(message)
        }
        // Some must be whole, or only the reader's first steps would be tested.
        #expect(whole > 2000, "\(whole)")
    }

    /// However it is cut into pieces, a stream of frames has the same messages; and what is changed in it is no message, or another.
    @Test("comes in pieces", arguments: [9, 10, 11, 12] as [UInt64])
    func comesInPieces(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let messages = try RecordedSession().exchanges.flatMap(\.received)
        for round in 0..<400 {
            let chosen = (0..<Int.random(in: 0...5, using: &generator)).compactMap { _ in
                messages.randomElement(using: &generator)
            }
            var bytes = chosen.flatMap { Array(GRPCFrames.frame($0).readableBytesView) }
            let isWhole = round.isMultiple(of: 2)
            if !isWhole { self.mutate(&bytes, from: messages, using: &generator) }
            var answer = GRPCAnswer()
            var meanings = answer.thisHappened(.headers([":status": "200"], isLast: false))
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...40, using: &generator))
                rest = rest.dropFirst(piece.count)
                meanings += answer.thisHappened(.data(ByteBuffer(bytes: piece), isLast: false))
            }
            meanings += answer.thisHappened(.headers(["grpc-status": "0"], isLast: true))
            // Just one end, and it is the last.
            #expect(meanings.count { if case .ended = $0 { true } else { false } } == 1)
            if isWhole {
                #expect(meanings == chosen.map { .message($0) } + [.ended(.status(0, ""))])
            }
            for case .message(let message) in meanings { self.read(message) }
            #expect(answer.thisHappened(.broken("x")) == [])
        }
    }

    /// Reads it as each of the messages there are, and returns how many it is one of.
    @discardableResult
    private func read(_ bytes: [UInt8]) -> Int {
        let types: [any EtcdMessage.Type] = [
            RangeRequest.Answer.self, Done.self, DeleteRequest.Answer.self,
            TransactionRequest.Answer.self, Lease.self,
            StatusRequest.Answer.self, WatchRequest.Answer.self,
        ]
        var whole = 0
        for type in types {
            do throws(Malformed) {
                let message = try type.init(bytes[...])
                whole += 1
                guard let answer = message as? WatchRequest.Answer else { continue }
                // A watch takes it, or ends.
                var watch = EngineWatch(KeyRange(prefix: "/m/"), from: 1)
                _ = watch.thisHappened(.came(answer))
                if case .changed(let events, let through)? = watch.thisHappened(.came(answer)) {
                    #expect(
                        events.allSatisfy {
                            $0.entry.modRevision <= through && $0.entry.key.starts(with: "/m/".utf8)
                        }
                    )
                }
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
        return whole
    }

    private func mutate(
        _ bytes: inout [UInt8],
        from others: [[UInt8]],
        using generator: inout SeededGenerator
    ) {
        let place = Int.random(in: 0...bytes.count, using: &generator)
        let end = min(bytes.count, place + Int.random(in: 0...8, using: &generator))
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: bytes.removeSubrange(place..<end)
        case 1: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 2: bytes.removeSubrange(place...)
        case 3:
            guard let other = others.randomElement(using: &generator) else { return }
            bytes.replaceSubrange(place..., with: other.suffix(other.count / 2))
        default:
            let byte = ([0, 1, 0x7F, 0x80, 0xFF] as [UInt8]).randomElement(using: &generator) ?? 0
            bytes.replaceSubrange(place..<min(bytes.count, place + 1), with: [byte])
        }
    }
}
#endif
