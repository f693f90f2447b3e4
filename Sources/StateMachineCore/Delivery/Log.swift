import Synchronization

/// One entry of the log that all drains of a machine read, and a link to the next.
///
/// Appending costs the same however many read. Following a link needs no lock. An entry lives until
/// every reader has passed it, and is freed by reference counting.
///
/// Guarded state: `position` and `link` are written once, by the machine under its lock, `position`
/// before any drain can see the entry; a drain that alone is at an entry may take the link away with the reference.
/// `@unchecked Sendable` for that.
@usableFromInline
class LogEntry: @unchecked Sendable {
    enum Kind: Sendable {
        /// What a log begins with, for those who read from there.
        case beginning
        /// The state was entered: a ``ChangeEntry``.
        case change
        /// Voters are asked; by then each has heard all that was committed before: a
        /// ``QuestionEntry``.
        case question
        /// What a drain was too late for, in place of it: a ``MissedEntry``, in no log.
        case missed
    }

    final let kind: Kind
    /// 0, 1, 2 …: changes and questions alike.
    final fileprivate(set) var position: UInt64 = 0
    final let link = Atomic<Unmanaged<LogEntry>?>(nil)
    /// Told when every drain has passed; nil if nobody asked.
    final let deliveryCount: DeliveryCount?

    init(_ kind: Kind, at position: UInt64 = 0, deliveryCount: DeliveryCount? = nil) {
        self.kind = kind
        self.position = position
        self.deliveryCount = deliveryCount
    }

    final var next: LogEntry? {
        self.link.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue()
    }

    /// Makes `entry` the one that follows: once for each entry, under the machine's lock.
    final func append(_ entry: LogEntry) {
        entry.position = self.position + 1
        self.link.store(.passRetained(entry), ordering: .sequentiallyConsistent)
    }

    /// The same without a link, which may be held while it is delivered, however long that takes:
    /// an entry keeps alive all that follow it.
    final var alone: LogEntry {
        let alone = self.copy
        alone.position = self.position
        return alone
    }

    fileprivate var copy: LogEntry { LogEntry(self.kind, deliveryCount: self.deliveryCount) }

    /// The entry that follows, with the link's reference to it.
    ///
    /// Only where nobody else refers to this entry, and so nobody can come along its link.
    final func takeNext() -> LogEntry? {
        self.link.exchange(nil, ordering: .acquiringAndReleasing)?.takeRetainedValue()
    }

    deinit {
        // One after the other: a chain of a million entries released by its first one would
        // recurse a million deep.
        var entry = self.takeNext()
        while entry != nil, isKnownUniquelyReferenced(&entry) {
            entry = entry?.takeNext()
        }
    }
}

/// The entry of a change.
@usableFromInline
final class ChangeEntry: LogEntry, @unchecked Sendable {
    @usableFromInline let change: Change

    init(_ change: Change, deliveryCount: DeliveryCount? = nil) {
        self.change = change
        super.init(.change, deliveryCount: deliveryCount)
    }

    fileprivate override var copy: LogEntry {
        ChangeEntry(self.change, deliveryCount: self.deliveryCount)
    }
}

/// The entry of a question, as it is put to some voters.
final class QuestionEntry: LogEntry, @unchecked Sendable {
    let ballot: Ballot
    /// The numbers of those whom it is put to.
    let asked: Set<UInt64>
    /// How long each is waited for; without one until it votes or vanishes.
    let limits: [UInt64: Duration]

    /// A question of that age, put to those voters.
    init(_ ballot: Ballot, to voters: [VoterMember], at age: QuestionAge) {
        self.ballot = ballot
        self.asked = Set(voters.lazy.map(\.number))
        self.limits = voters.reduce(into: [:]) { limits, voter in
            limits[voter.number] = age.limit(of: voter.terms, under: ballot.question)
        }
        super.init(.question)
    }

    private init(_ other: QuestionEntry) {
        (self.ballot, self.asked, self.limits) = (other.ballot, other.asked, other.limits)
        super.init(.question)
    }

    fileprivate override var copy: LogEntry { QuestionEntry(self) }
}

/// Changes that a drain was too late for.
final class MissedEntry: LogEntry, @unchecked Sendable {
    let missed: Missed

    init(_ missed: Missed) {
        self.missed = missed
        super.init(.missed)
    }
}

/// Changes that a drain was too late for: the first one's seq, and the last one.
struct Missed: Sendable {
    var first: UInt64
    var newest: Change
}

/// Counts the drains that have yet to pass something; the last one calls `completed`, once, on its
/// own context and under no lock.
final class DeliveryCount: Sendable {
    private let left: Atomic<Int>
    private let wasHeard = Atomic<Bool>(false)
    private let completed: @Sendable (_ wasHeard: Bool) -> Void

    init(drains: Int = 0, completed: @escaping @Sendable (_ wasHeard: Bool) -> Void) {
        self.left = Atomic(drains)
        self.completed = completed
    }

    /// How many drains have to pass; said before the first one can.
    func expect(drains: Int) { self.left.store(drains, ordering: .sequentiallyConsistent) }

    /// Has one more pass; said by a drain before it passes itself.
    func expectOneMore() { self.left.add(1, ordering: .sequentiallyConsistent) }

    func pass(hearing isHeard: Bool) {
        if isHeard { self.wasHeard.store(true, ordering: .sequentiallyConsistent) }
        guard self.left.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
        self.completed(self.wasHeard.load(ordering: .sequentiallyConsistent))
    }

    /// For what no drain has to pass.
    func completeUnheard() { self.completed(false) }
}
