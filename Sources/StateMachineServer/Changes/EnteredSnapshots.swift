/// The encoded results of sets, kept until their transitions are handed over, so that they are not encoded twice.
///
/// Belongs to the event loop.
struct EnteredSnapshots {
    /// In their order, without a gap.
    private var snapshots: [EncodedSnapshot] = []
    /// The seq of the first of them.
    private var first: UInt64 = 0
    /// The seq of the last one that was handed over.
    private var handedOver: UInt64 = 0

    /// Keeps one, unless it was handed over already.
    mutating func keep(_ snapshot: EncodedSnapshot) {
        guard snapshot.seq > self.handedOver else { return }
        if snapshot.seq != self.first + UInt64(self.snapshots.count) {
            self.first = snapshot.seq
            self.snapshots = []
        }
        self.snapshots.append(snapshot)
    }

    /// The transition of that number is being handed over; returns what it led to, nil if that is not known.
    mutating func handOver(_ seq: UInt64) -> EncodedSnapshot? {
        self.handedOver = seq
        guard seq >= self.first else { return nil }
        let index = Int(seq - self.first)
        guard index < self.snapshots.count else { return nil }
        let snapshot = self.snapshots[index]
        if index == self.snapshots.count - 1 { self.snapshots.removeAll(keepingCapacity: true) }
        return snapshot
    }
}
