import TestSupport

/// What the answer to a set has to agree with.
struct SetVerdict {
    let number: Int
    let state: Int
    let ifSeq: Int?
    let ifState: Set<Int>?
    let reenter: Bool

    /// Guarantee 3, and what `ifSeq` and `ifState` promise.
    func evaluate(_ line: JSONLine, _ truth: inout Truth) throws {
        guard let seq = line.seq else { throw TestFailure("no seq: \(line)") }
        let text = "\(line)"
        switch (line.ok, line.bool("changed"), line.error) {
        case (true, true, nil):
            try self.expect(self.ifSeq ?? seq - 1 == seq - 1, text)
            try truth.claim(upTo: seq) { truth in
                let (before, after) = (truth.changes[seq - 1], truth.changes[seq])
                try self.expect(after.set == self.number && after.state == self.state, text)
                try self.expect(self.ifState?.contains(before.state) ?? true, text)
                try self.expect(self.reenter || before.state != after.state, text)
            }
        case (true, false, nil):
            try self.expect(!self.reenter && self.ifSeq ?? seq == seq, text)
            try truth.claim(upTo: seq) { truth in
                try self.expect(truth.changes[seq].state == self.state, text)
                try self.expect(self.ifState?.contains(self.state) ?? true, text)
            }
        case (false, nil, "conflict"):
            try truth.claim(upTo: seq) { truth in
                let isOther = self.ifState.map { !$0.contains(truth.changes[seq].state) } ?? false
                try self.expect(isOther || self.ifSeq.map { $0 != seq } ?? false, text)
            }
        default:
            throw TestFailure("no answer to a set: \(line)")
        }
    }

    private func expect(_ isSo: Bool, _ line: String) throws {
        guard isSo else { throw TestFailure("set \(self.number) was not to be answered \(line)") }
    }
}
