import TestSupport
import Testing

/// A change under a condition, `ifSeq` or `ifState`.
@Suite(.bounded) struct ConditionTests {
    /// Guarantee 3: each seq is won by one of those who wanted it.
    @Test func ofTwoWhoWantTheSameSeqExactlyOneGetsIt() async throws {
        try await DaemonProcess.run { daemon in
            let rounds = 10_000
            let racers = try (0..<2).map { _ in try daemon.connect(\.control) }
            let wins = try await withThrowingTaskGroup(of: [Int].self) { group in
                for racer in racers {
                    group.addTask { try await racer.race(through: rounds) }
                }
                var wins: [[Int]] = []
                for try await own in group { wins.append(own) }
                return wins
            }
            #expect((wins[0] + wins[1]).sorted() == Array(1...rounds))
            #expect(try await racers[0].ask("ping").seq == rounds)
        }
    }
}

extension LineSocket {
    /// Sets again and again, provided that nobody else has set in between; returns the seqs it won.
    ///
    /// Each racer wants the seq after the one it knows, and learns of a newer one from the refusal;
    /// so both are at the same one most of the time.
    fileprivate func race(through last: Int) async throws -> [Int] {
        try await blocking {
            var known = 0
            var wins: [Int] = []
            while known < last {
                let data = #""data":{"value":\#(known % 2 == 0)}"#
                try self.send(#"{"op":"set","state":"ready",\#(data),"ifSeq":\#(known)}"#)
                guard let text = try self.readLine() else { throw TestFailure("cut off") }
                let line = try JSONLine(text)
                guard let seq = line.seq else { throw TestFailure("no seq: \(text)") }
                if line.ok == true {
                    guard seq == known + 1 else { throw TestFailure("won another: \(text)") }
                    wins.append(seq)
                } else {
                    guard line.error == "conflict", seq > known else {
                        throw TestFailure("refused for nothing: \(text)")
                    }
                }
                known = seq
            }
            return wins
        }
    }
}
