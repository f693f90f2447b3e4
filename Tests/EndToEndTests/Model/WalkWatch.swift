import TestSupport

/// One watch as its client sees it, and which lines may come next.
final class WalkWatch {
    enum Phase {
        /// Nothing has arrived.
        case awaited
        case replaying
        case live
    }

    let id: Int?
    let only: Set<Int>?
    let isLatest: Bool
    let isPaced: Bool
    private let ring: Int
    /// The seq from which it resumes; nil if it begins anew.
    private let since: Int?

    private(set) var phase = Phase.awaited
    private(set) var last: Int

    init(id: Int?, only: Set<Int>?, isLatest: Bool, isPaced: Bool, since: Int?, ring: Int) {
        self.id = id
        self.only = only
        self.isLatest = isLatest
        self.isPaced = isPaced
        self.since = since
        self.ring = ring
        self.last = since ?? 0
    }

    private var isPlain: Bool { self.only == nil && !self.isLatest }

    var wanted: Set<Int> { self.only ?? Set(WalkState.fragments.indices) }

    /// Guarantees 1, 2 and 9: the next line is the next change, or says what is missing.
    func heard(_ type: String, _ line: JSONLine, _ seq: Int, _ truth: inout Truth) throws {
        switch (type, self.phase) {
        case ("state", .awaited):
            try self.begins(line, seq)
            self.phase = .live
        case ("state", .live), ("state", .replaying):
            guard line.string("resync") == "lagged", line.int("missed") == seq - self.last else {
                throw TestFailure("a resync that was to say \(seq - self.last): \(line)")
            }
            guard !self.isPlain || seq - self.last > self.ring else {
                throw TestFailure("lost without need: \(line)")
            }
            // More than one is fine: a client that reads late falls behind again.
            self.phase = .live
        case ("change", .awaited) where self.since != nil, ("change", .replaying):
            guard line.bool("replay") == true else { throw TestFailure("not replayed: \(line)") }
            self.phase = .replaying
            try self.changed(line, seq, &truth)
        case ("change", .live):
            guard !line.has("replay") else { throw TestFailure("replayed: \(line)") }
            try self.changed(line, seq, &truth)
        case ("live", .awaited) where self.since != nil, ("live", .replaying):
            self.phase = .live
            try self.expectNothing(until: seq + 1, line, &truth)
        case ("beat", .live):
            try self.expectNothing(until: seq + 1, line, &truth)
        default:
            throw TestFailure("out of turn: \(line)")
        }
        self.last = seq
    }

    private func begins(_ line: JSONLine, _ seq: Int) throws {
        guard let since else {
            guard !line.has("resync") else { throw TestFailure("nothing was missed: \(line)") }
            return
        }
        // What was kept at the time of the request may be gone at this watch's turn.
        guard ["evicted", "lagged"].contains(line.string("resync")),
            line.int("missed") == seq - since, seq - since > self.ring
        else { throw TestFailure("not evicted: \(line)") }
    }

    private func changed(_ line: JSONLine, _ seq: Int, _ truth: inout Truth) throws {
        let (last, wanted, text) = (self.last, self.wanted, "\(line)")
        let skipped = line.int("skipped") ?? 0
        guard seq > last, self.isLatest || skipped == 0 else {
            throw TestFailure("after \(last) came \(line)")
        }
        guard !self.isPlain || seq == last + 1 else {
            throw TestFailure("a gap after \(last): \(line)")
        }
        try truth.claim(upTo: seq) { truth in
            guard truth.count(of: wanted, after: last, before: seq) == skipped,
                wanted.contains(truth.changes[seq].state)
            else { throw TestFailure("between \(last) and \(seq) others were wanted: \(text)") }
        }
    }

    /// Checks that nothing that the watch wants has happened since its last line.
    func expectNothing(until end: Int, _ line: JSONLine, _ truth: inout Truth) throws {
        let (last, wanted, text) = (self.last, self.wanted, "\(line)")
        try truth.claim(upTo: end - 1) { truth in
            guard truth.count(of: wanted, after: last, before: end) == 0 else {
                throw TestFailure("something wanted after \(last) was not sent: \(text)")
            }
        }
    }
}
