/// The delegates of a ``MulticastDelegate``, in order of registration, and a lane for each context.
///
/// Part of what its lock guards; it calls nobody, and releases nothing: what leaves is returned, or
/// held by whoever removes it.
///
/// A delegate that leaves leaves a gap, and the gaps are closed when they outnumber the delegates:
/// so adding and removing cost the same however many there are.
struct Roster: Sendable {
    private struct Place: Sendable {
        let lane: CallLane
        var count: Int
    }

    /// All delegates; nil where one has left.
    private(set) var slots: [Recipient?] = []
    private var count = 0
    /// Where an object's pairs are.
    private var indices: [ObjectIdentifier: [Int]] = [:]
    private var places: [ObjectIdentifier: Place] = [:]
    /// How many there may be before it is time to look for those that are gone.
    private var sweepLimit = Self.firstSweepLimit

    // 64: few enough to be looked through in no time. Not tuned.
    private static let firstSweepLimit = 64

    /// The registered pairs of that object; dead ones with the same identifier are left out.
    func pairs(of object: AnyObject) -> [Recipient] {
        (self.indices[ObjectIdentifier(object)] ?? [])
            .compactMap { self.slots[$0] }
            .filter { $0.represents(object) && !$0.isCancelled }
    }

    func lane(of context: ObjectIdentifier) -> CallLane? { self.places[context]?.lane }

    mutating func append(_ recipient: Recipient) {
        self.closeGaps()
        self.indices[recipient.object, default: []].append(self.slots.count)
        self.slots.append(recipient)
        self.count += 1
        self.places[recipient.context, default: Place(lane: recipient.lane, count: 0)].count += 1
    }

    mutating func remove(_ recipient: Recipient) {
        guard
            let index = self.indices[recipient.object]?.first(where: {
                self.slots[$0] === recipient
            })
        else { return }
        self.slots[index] = nil
        self.count -= 1
        self.indices[recipient.object]?.removeAll { $0 == index }
        if self.indices[recipient.object]?.isEmpty == true {
            self.indices[recipient.object] = nil
        }
        self.places[recipient.context]?.count -= 1
        if self.places[recipient.context]?.count == 0 { self.places[recipient.context] = nil }
    }

    /// Whether there are twice as many as at the last sweep.
    mutating func isSweepDue() -> Bool {
        guard self.count >= self.sweepLimit else { return false }
        self.sweepLimit = self.count * 2
        return true
    }

    private mutating func closeGaps() {
        guard self.slots.count > self.count * 2 else { return }
        let there = self.slots.compactMap(\.self)
        self.indices = [:]
        for (index, recipient) in there.enumerated() {
            self.indices[recipient.object, default: []].append(index)
        }
        self.slots = there
        self.sweepLimit = max(Self.firstSweepLimit, self.count * 2)
    }
}
