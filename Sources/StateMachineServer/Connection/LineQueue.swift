/// A client's unsent lines, in the order of its requests, and what happens at the turn of each.
///
/// Owns them until they are taken out to be written; only ``Outbox`` has one. Belongs to the event loop.
struct LineQueue {
    /// Lines that are written together.
    struct Segment {
        var bytes: [UInt8] = []
        /// How many of the bytes do not count: they have been written, or others share them.
        var start = 0
        var replies = 0
        /// The newest change that they refer to, which goes before them.
        var seq: UInt64 = 0
        var mark: Mark?

        /// Its bytes that are to be written.
        var rest: ArraySlice<UInt8> { self.bytes[self.start...] }

        /// Whether more lines may join it.
        fileprivate var isOpen: Bool { self.mark == nil && self.start == 0 }
    }

    /// What happens when the lines before it are written.
    enum Mark {
        case start(Watch)
        case end(Watch)
        case history(HistoryRun)
    }

    private var segments: [Segment] = []

    var isEmpty: Bool { self.segments.isEmpty }

    /// The change that has to go before the next of them; nil if there are none.
    var nextSeq: UInt64? { self.segments.first?.seq }

    /// What happens before the next of them are written.
    var nextMark: Mark? { self.segments.first?.mark }

    /// The answers to `history` among them.
    var runs: [HistoryRun] {
        self.segments.compactMap { if case .history(let run) = $0.mark { run } else { nil } }
    }

    /// Whether they are all in one segment, of fewer than so many bytes.
    func areOne(within bytes: Int) -> Bool {
        self.segments.count == 1 && self.segments[0].bytes.count < bytes
    }

    /// Begins a segment in a reused buffer.
    mutating func begin(in room: [UInt8]) { self.segments.append(Segment(bytes: room)) }

    /// Adds a line that is a reply in flight; changes up to `seq` go before it.
    mutating func reply(_ line: UnsafeRawBufferPointer, after seq: UInt64) {
        if self.segments.last?.isOpen != true { self.segments.append(Segment()) }
        let last = self.segments.count - 1
        self.segments[last].bytes.append(contentsOf: line)
        self.segments[last].replies += 1
        self.segments[last].seq = max(self.segments[last].seq, seq)
    }

    /// Adds a line with so many replies in flight, and what happens when its turn comes.
    mutating func append(_ line: [UInt8], replies: Int, after seq: UInt64, mark: Mark?) {
        if let last = self.segments.indices.last, self.segments[last].isOpen {
            self.segments[last].bytes += line
            self.segments[last].replies += replies
            self.segments[last].seq = max(self.segments[last].seq, seq)
            self.segments[last].mark = mark
        } else {
            self.segments.append(Segment(bytes: line, replies: replies, seq: seq, mark: mark))
        }
    }

    /// Adds the end of a line that is a reply in flight, from `start` on, of which no copy is made.
    mutating func append(shared line: [UInt8], from start: Int) {
        self.segments.append(Segment(bytes: line, start: start, replies: 1))
    }

    /// Puts back what was not written of the lines that were taken out last.
    mutating func putBack(_ segment: Segment) { self.segments.insert(segment, at: 0) }

    /// Takes out the next of them; there have to be some.
    mutating func takeNext() -> Segment { self.segments.removeFirst() }

    /// Drops them all.
    mutating func clear() { self.segments = [] }

    /// Their record for the next process; `place` gives a watch's position there.
    func record(place: (Watch) -> Int) -> [HandOverRecord.Segment] {
        self.segments.map { $0.record(place: place) }
    }
}
