import StateMachineClient
import StateMachineCore
import StateMachineProtocol

/// The stays of the past, the oldest first: which state was entered when, and by which change.
///
/// Kept in columns: a million of them take 14 MB.
struct PastStays {
    /// The names of the states, each once.
    private(set) var names: [String] = []
    /// For each stay the place of its state among the names.
    private(set) var states: [UInt16] = []
    /// When each began, in microseconds; a clock that was set back has some begin before the one before.
    private(set) var starts: [Int64] = []
    /// By how much the change that began each is beyond `firstSeq`.
    private var offsets: [UInt32] = []
    private var firstSeq: UInt64 = 0
    /// The changes that were told of, those included that began no stay.
    private(set) var changes: UInt64 = 0

    var count: Int { self.states.count }
    var isEmpty: Bool { self.states.isEmpty }

    /// Makes room for that many.
    mutating func reserve(_ count: Int) {
        self.states.reserveCapacity(count)
        self.starts.reserveCapacity(count)
        self.offsets.reserveCapacity(count)
    }

    /// The number of the change that began a stay.
    func seq(of stay: Int) -> UInt64 { self.firstSeq + UInt64(self.offsets[stay]) }

    /// The place of a state among the names, which it has from then on.
    mutating func place(of name: String) -> UInt16 {
        if let place = self.names.firstIndex(where: { $0.isSpelled(name) }) { return UInt16(place) }
        self.names.append(name)
        return UInt16(self.names.count - 1)
    }

    /// Adds a stay.
    mutating func enter(_ state: UInt16, at time: Int64, seq: UInt64) {
        if self.isEmpty { self.firstSeq = seq }
        self.states.append(state)
        self.starts.append(time)
        self.offsets.append(UInt32(clamping: seq - self.firstSeq))
    }

    /// Adds what an outline tells of.
    mutating func take(_ outline: TransitionOutline) {
        let places = outline.names.map { self.place(of: $0) }
        for (index, entry) in outline.entries.enumerated() {
            guard let state = entry.state else { continue }
            self.enter(
                places[state],
                at: entry.at.microseconds,
                seq: outline.first + UInt64(index)
            )
        }
        self.changes += UInt64(outline.entries.count)
    }
}
