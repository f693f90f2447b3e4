/// The members of a lane in order of registration; adding and removing cost the same however many
/// there are.
///
/// Part of what a lane's lock guards. Releases no member: whoever removes one holds it, and takes those to nudge.
struct LaneMembers: Sendable {
    /// A vacated slot stays empty until most are.
    private var slots: [Member?] = []
    private var objects: [ObjectIdentifier: Member] = [:]
    private(set) var count = 0

    /// Members that are to be called although nothing was appended, each once.
    private var nudged: [Member] = []

    var isEmpty: Bool { self.count == 0 }

    var all: [Member] { self.slots.compactMap { $0 } }

    /// The member that represents that object, if it has not been cancelled.
    func member(representing object: AnyObject) -> Member? {
        guard
            let member = self.objects[ObjectIdentifier(object)],
            member.represents(object), !member.isCancelled
        else { return nil }
        return member
    }

    mutating func append(_ member: Member) {
        member.slot = self.slots.count
        self.slots.append(member)
        self.count += 1
        if let object = member.object { self.objects[object] = member }
    }

    /// Returns whether it was there.
    mutating func remove(_ member: Member) -> Bool {
        guard let slot = member.slot else { return false }
        member.slot = nil
        self.slots[slot] = nil
        self.count -= 1
        if let object = member.object, self.objects[object] === member {
            self.objects[object] = nil
        }
        if self.slots.count > 2 * self.count { self.close() }
        return true
    }

    /// Closes the gaps.
    private mutating func close() {
        self.slots = self.all
        for (slot, member) in self.slots.enumerated() { member?.slot = slot }
    }

    mutating func nudge(_ member: Member) {
        guard !member.isNudged else { return }
        member.isNudged = true
        self.nudged.append(member)
    }

    /// Takes the members to nudge; after that there are none.
    mutating func takeNudged() -> [Member] {
        for member in self.nudged { member.isNudged = false }
        return exchange(&self.nudged, with: [])
    }
}
