public import Synchronization

/// One entry of the log that all lanes of a machine read, and a link to the next.
///
/// Appending costs the same however many read. Following a link needs no lock. An entry lives until
/// every reader has passed it, and is freed by reference counting.
///
/// Not generic, with subclasses that differ only in what they carry: freeing a generic class is
/// code that knows nothing of its parameters, and would take the greater part of a commit.
///
/// Guarded state: `position` and `link` are written once, by the machine under its lock, `position`
/// before any lane can see the entry. `@unchecked Sendable` for that.
@usableFromInline
class LogEntry: @unchecked Sendable {
    @usableFromInline
    enum Kind: Sendable {
        /// What a log begins with.
        case beginning
        /// The state was assigned: a ``TransitionEntry``.
        case transition
        /// Voters are asked, each has by then heard all that was committed before: a
        /// ``QuestionEntry``.
        case question
        /// Somebody wants to know when every lane has come this far.
        case mark
    }

    @usableFromInline final let kind: Kind
    /// 0, 1, 2 …: transitions, questions and marks alike.
    @exclusivity(unchecked) @usableFromInline final var position: UInt64 = 0
    @usableFromInline final let link = Atomic<Unmanaged<LogEntry>?>(nil)
    /// Told when every lane has passed; nil if nobody asked.
    @usableFromInline final let deliveryCount: DeliveryCount?

    @usableFromInline
    init(_ kind: Kind, deliveryCount: DeliveryCount? = nil) {
        self.kind = kind
        self.deliveryCount = deliveryCount
    }

    @inlinable final var next: LogEntry? {
        self.link.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue()
    }

    /// Makes `entry` the one that follows: once for each entry, under the machine's lock.
    @inlinable
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

/// The entry of a transition.
@usableFromInline
final class TransitionEntry<State: MachineState>: LogEntry, @unchecked Sendable {
    // One by one, since a generic struct would be freed field by field through its description.
    @usableFromInline let seq: UInt64
    @usableFromInline let at: WallTime
    @usableFromInline let cause: String?
    @usableFromInline let setter: CompactPeer?
    @usableFromInline let stay: UInt64
    @usableFromInline let old: State
    @usableFromInline let new: State

    @inlinable
    init(
        seq: UInt64,
        old: State,
        new: State,
        at: WallTime,
        cause: String?,
        setter: CompactPeer?,
        stay: UInt64,
        deliveryCount: DeliveryCount? = nil
    ) {
        self.seq = seq
        self.at = at
        self.cause = cause
        self.setter = setter
        self.stay = stay
        self.old = old
        self.new = new
        super.init(.transition, deliveryCount: deliveryCount)
    }

    @inlinable
    convenience init(_ transition: Transition<State>, deliveryCount: DeliveryCount? = nil) {
        self.init(
            seq: transition.seq,
            old: transition.old,
            new: transition.new,
            at: transition.at,
            cause: transition.cause,
            setter: transition.setter,
            stay: transition.stay,
            deliveryCount: deliveryCount
        )
    }

    @inlinable var transition: Transition<State> {
        Transition(
            seq: self.seq,
            old: self.old,
            new: self.new,
            at: self.at,
            cause: self.cause,
            setter: self.setter,
            stay: self.stay
        )
    }

    @inlinable var mark: TransitionMark {
        TransitionMark(seq: self.seq, at: self.at, stay: self.stay)
    }

    /// Where the machine is after it.
    @inlinable var snapshot: Snapshot<State> {
        Snapshot(seq: self.seq, state: self.new, at: self.at, stay: self.stay)
    }
}

/// The entry of a question.
final class QuestionEntry<State: MachineState>: LogEntry, @unchecked Sendable {
    let ballot: Ballot<State>

    init(_ ballot: Ballot<State>) {
        self.ballot = ballot
        super.init(.question)
    }
}

/// Counts the lanes that have yet to pass an entry; the last one calls `completed`, once, on its
/// own context and under no lock.
@usableFromInline
final class DeliveryCount: Sendable {
    private let left: Atomic<Int>
    private let wasHeard = Atomic<Bool>(false)
    private let completed: @Sendable (_ wasHeard: Bool) -> Void

    init(lanes: Int = 0, completed: @escaping @Sendable (_ wasHeard: Bool) -> Void) {
        self.left = Atomic(lanes)
        self.completed = completed
    }

    /// How many lanes have to pass; said before the first one can.
    @usableFromInline
    func expect(lanes: Int) { self.left.store(lanes, ordering: .sequentiallyConsistent) }

    @usableFromInline
    func pass(hearing isHeard: Bool) {
        if isHeard { self.wasHeard.store(true, ordering: .sequentiallyConsistent) }
        guard self.left.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
        self.completed(self.wasHeard.load(ordering: .sequentiallyConsistent))
    }

    /// For an entry that no lane has to pass.
    @usableFromInline
    func completeUnheard() { self.completed(false) }
}
