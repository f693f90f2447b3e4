import Synchronization

/// One entry of the log that all lanes of a machine read, and a link to the next.
///
/// Appending costs the same however many read. Following a link needs no lock. An entry lives until
/// every reader has passed it, and is freed by reference counting.
///
/// Guarded state: `position` and `link` are written once, by the machine under its lock, `position`
/// before any lane can see the entry. `@unchecked Sendable` for that.
@usableFromInline
class LogEntry: @unchecked Sendable {
    enum Kind: Sendable {
        /// What a log begins with.
        case beginning
        /// The state was entered: a ``ChangeEntry``.
        case change
        /// Voters are asked, each has by then heard all that was committed before: a
        /// ``QuestionEntry``.
        case question
        /// Somebody wants to know when every lane has come this far.
        case mark
        /// What is kept for a member is to be delivered: a ``FlushEntry``.
        case flush
    }

    final let kind: Kind
    /// 0, 1, 2 …: changes, questions and marks alike.
    final var position: UInt64 = 0
    final let link = Atomic<Unmanaged<LogEntry>?>(nil)
    /// Told when every lane has passed; nil if nobody asked.
    final let deliveryCount: DeliveryCount?

    init(_ kind: Kind, deliveryCount: DeliveryCount? = nil) {
        self.kind = kind
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

    private final func takeNext() -> LogEntry? {
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
}

/// The entry of a question.
final class QuestionEntry: LogEntry, @unchecked Sendable {
    let ballot: Ballot

    init(_ ballot: Ballot) {
        self.ballot = ballot
        super.init(.question)
    }
}

/// The entry of a flush.
final class FlushEntry: LogEntry, @unchecked Sendable {
    let flush: Flush

    init(_ flush: Flush) {
        self.flush = flush
        super.init(.flush)
    }
}

/// A request to deliver what is kept for a member, once it has been told of all that was committed
/// before.
struct Flush: Sendable {
    /// The identity of the lane that it is in.
    let place: ObjectIdentifier
    weak let member: Member?
    let waiter: Waiter

    /// Nobody will deliver it: who waits is told.
    func pass() {
        self.member?.callGuard.forget(self.waiter)
        self.waiter.tell()
    }
}

/// Counts the lanes that have yet to pass an entry; the last one calls `completed`, once, on its
/// own context and under no lock.
final class DeliveryCount: Sendable {
    private let left: Atomic<Int>
    private let wasHeard = Atomic<Bool>(false)
    private let completed: @Sendable (_ wasHeard: Bool) -> Void

    init(lanes: Int = 0, completed: @escaping @Sendable (_ wasHeard: Bool) -> Void) {
        self.left = Atomic(lanes)
        self.completed = completed
    }

    /// How many lanes have to pass; said before the first one can.
    func expect(lanes: Int) { self.left.store(lanes, ordering: .sequentiallyConsistent) }

    /// Has one more pass; said by a lane before it passes itself.
    func expectOneMore() { self.left.add(1, ordering: .sequentiallyConsistent) }

    func pass(hearing isHeard: Bool) {
        if isHeard { self.wasHeard.store(true, ordering: .sequentiallyConsistent) }
        guard self.left.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
        self.completed(self.wasHeard.load(ordering: .sequentiallyConsistent))
    }

    /// For an entry that no lane has to pass.
    func completeUnheard() { self.completed(false) }
}
