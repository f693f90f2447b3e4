import TestSupport

/// One client of a walk: what it has asked for, and so what it may be sent.
final class WalkClient {
    /// A request that has no answer yet.
    enum Request {
        /// `get` or `ping`.
        case question
        case set(SetVerdict)
        case watch(WalkWatch)
        case unwatch(WalkWatch)
    }

    let socket: LineSocket
    let name: String
    let maySet: Bool
    private(set) var watches: [WalkWatch] = []
    private var requests: [(id: Int, request: Request)] = []
    var isReading = true
    private(set) var hasEndedInput = false
    private(set) var hasEnded = false
    /// The last lines it was sent, for finding out why a walk failed.
    private(set) var tail: [String] = []
    /// The sets whose answers said that nothing changed.
    private(set) var unmade: Set<Int> = []

    init(_ socket: LineSocket, name: String, isWatching: Bool, ring: Int) {
        self.socket = socket
        self.name = name
        self.maySet = !isWatching
        guard isWatching else { return }
        let watch = WalkWatch(
            id: nil,
            only: nil,
            isLatest: false,
            isPaced: false,
            since: nil,
            ring: ring
        )
        self.watches = [watch]
    }

    var unanswered: Int { self.requests.count }

    /// The watches that have begun and that it has not asked to end.
    var running: [WalkWatch] {
        let ending = self.requests.compactMap { request -> WalkWatch? in
            if case .unwatch(let watch) = request.request { watch } else { nil }
        }
        return self.watches.filter { watch in !ending.contains { $0 === watch } }
    }

    func send(_ id: Int, _ request: Request, _ keys: String) throws {
        self.requests.append((id, request))
        if case .watch(let watch) = request { self.watches.append(watch) }
        try self.socket.send(#"{"id":\#(id),\#(keys)}"#)
    }

    /// Ends the input: pending requests are still answered, the implicit watch ends.
    func endInput() {
        self.socket.endInput()
        self.hasEndedInput = true
    }

    /// Reads again; the daemon will tell it what it has missed.
    func resume() { self.isReading = true }

    /// Whether nothing more will arrive for it.
    func isDone(_ truth: Truth) -> Bool {
        guard !self.hasEnded else { return true }
        guard self.requests.isEmpty else { return false }
        let explicit = self.watches.filter { $0.id != nil }
        if self.hasEndedInput, explicit.isEmpty { return false }
        return (self.hasEndedInput ? explicit : self.watches).allSatisfy { watch in
            let end = truth.head + 1
            return truth.count(of: watch.wanted, after: watch.last, before: end) == 0
        }
    }

    /// Reads what has arrived, unless reading is suspended.
    func read(_ truth: inout Truth) throws {
        guard self.isReading, !self.hasEnded else { return }
        guard let lines = try self.socket.linesSoFar() else {
            self.hasEnded = true
            try self.expectEnd()
            return
        }
        for line in lines { try self.heard(line, &truth) }
    }

    /// Guarantee 10.
    private func expectEnd() throws {
        guard self.hasEndedInput, self.requests.isEmpty, self.watches.allSatisfy({ $0.id == nil })
        else { throw TestFailure("the daemon closed a connection that had not ended") }
    }

    private func heard(_ text: String, _ truth: inout Truth) throws {
        self.tail = self.tail.suffix(7) + [text]
        let line = try JSONLine(text)
        guard let type = line.type else { throw TestFailure("no type: \(text)") }
        if let seq = line.seq, line.has("data") {
            let state = try WalkState.number(in: text)
            try truth.claim(upTo: seq) { try $0.expect(state, at: seq, text) }
        }
        if type == "reply" {
            try self.answered(line, &truth)
            return
        }
        if let first = self.requests.first, case .watch(let watch) = first.request,
            watch.id == line.int("id")
        {
            self.requests.removeFirst()
        }
        guard let seq = line.seq,
            let watch = self.watches.first(where: { $0.id == line.int("id") }),
            !self.requests.contains(where: { $0.request.begins(watch) })
        else { throw TestFailure("of no watch: \(text)") }
        try watch.heard(type, line, seq, &truth)
    }

    private func answered(_ line: JSONLine, _ truth: inout Truth) throws {
        guard !self.requests.isEmpty, self.requests[0].id == line.int("id") else {
            throw TestFailure("out of order: \(line)")
        }
        switch self.requests.removeFirst().request {
        case .question:
            guard line.ok == true else { throw TestFailure("refused: \(line)") }
        case .set(let verdict):
            try verdict.evaluate(line, &truth)
            if line.bool("changed") != true { self.unmade.insert(verdict.number) }
        case .watch:
            throw TestFailure("a watch was refused: \(line)")
        case .unwatch(let watch):
            guard line.ok == true else { throw TestFailure("refused: \(line)") }
            self.watches.removeAll { $0 === watch }
        }
        guard let seq = line.seq else { return }
        // Guarantee 4. A watch that has not begun yet comes after the reply.
        for watch in self.watches where !watch.isPaced {
            if case .awaited = watch.phase { continue }
            try watch.expectNothing(until: seq + 1, line, &truth)
        }
    }
}

extension WalkClient.Request {
    fileprivate func begins(_ watch: WalkWatch) -> Bool {
        if case .watch(let own) = self { own === watch } else { false }
    }
}

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
