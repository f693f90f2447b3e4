import StateMachineClient
import StateMachineCore
import StateMachineProtocol

/// The stays of the past, the oldest first: which state was entered when, and by which change.
///
/// Kept in columns: a million of them take 14 MB.
struct PastStays {
    /// The names of the states, each once.
    private(set) var names: [String] = []
    private var places: [Spelling: UInt16] = [:]
    /// For each stay the index of its state in `names`.
    private(set) var states: [UInt16] = []
    /// When each stay began, in microseconds; not always ascending, as clocks are set back.
    private(set) var starts: [Int64] = []
    /// For each stay, by how much the change that began it is beyond `firstSeq`.
    private var offsets: [UInt32] = []
    private var firstSeq: UInt64 = 0
    /// The number of changes that were read, including those that began no stay.
    private(set) var changes: UInt64 = 0

    var count: Int { self.states.count }
    var isEmpty: Bool { self.states.isEmpty }

    /// Reserves room for that many stays.
    mutating func reserve(_ count: Int) {
        self.states.reserveCapacity(count)
        self.starts.reserveCapacity(count)
        self.offsets.reserveCapacity(count)
    }

    /// The number of the change that began a stay.
    func seq(of stay: Int) -> UInt64 { self.firstSeq + UInt64(self.offsets[stay]) }

    /// The most states.
    ///
    /// 4096: sixteen times what a file may declare; names that a machine has had count too.
    static let mostNames = 4096

    /// Whether there are more states than a machine can have had; those beyond count as the last one.
    private(set) var isTooMany = false

    /// The index of a state in `names`, to which a new one is added.
    mutating func place(of name: String) -> UInt16 {
        let spelling = Spelling(name)
        if let place = self.places[spelling] { return place }
        guard self.names.count < Self.mostNames else {
            self.isTooMany = true
            return UInt16(Self.mostNames - 1)
        }
        let place = UInt16(self.names.count)
        self.names.append(name)
        self.places[spelling] = place
        return place
    }

    /// Adds a stay.
    mutating func enter(_ state: UInt16, at time: Int64, seq: UInt64) {
        if self.isEmpty { self.firstSeq = seq }
        self.states.append(state)
        self.starts.append(time)
        self.offsets.append(seq > self.firstSeq ? UInt32(clamping: seq - self.firstSeq) : 0)
    }

    /// Adds the stays of an outline.
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
