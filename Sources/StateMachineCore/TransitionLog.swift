public import Synchronization

/// One entry of the log that all lanes of a machine read, and a link to the next.
///
/// Appending costs the same whoever reads. Following a link needs no lock. An entry lives as long as
/// a reader has not passed it, and is freed by reference counting.
///
/// Guarded state: `position` and `link` are written once, by the machine under its lock, `position`
/// before any lane can see the entry. `@unchecked Sendable` for that.
@usableFromInline
final class TransitionLogEntry<State: MachineState>: @unchecked Sendable {
    @usableFromInline
    enum Content: Sendable {
        /// What a log begins with.
        case beginning
        /// The state was assigned.
        case transition(Transition<State>)
        /// Voters are asked; each has by then heard all that was committed before.
        case question(Ballot<State>)
        /// Somebody wants to know when every lane has come this far.
        case mark
    }

    /// 0, 1, 2 …: transitions, questions and marks alike.
    @exclusivity(unchecked) @usableFromInline var position: UInt64 = 0
    @usableFromInline let link = Atomic<Unmanaged<TransitionLogEntry>?>(nil)
    /// Who is told when every lane has passed; nil if nobody asked.
    @usableFromInline let passage: Passage?
    @usableFromInline let content: Content

    @inlinable
    init(_ content: Content, passage: Passage? = nil) {
        self.content = content
        self.passage = passage
    }

    @inlinable var next: TransitionLogEntry? {
        self.link.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue()
    }

    /// Makes `entry` the one that follows: once for each entry, under the machine's lock.
    @inlinable
    func append(_ entry: TransitionLogEntry) {
        entry.position = self.position + 1
        self.link.store(.passRetained(entry), ordering: .sequentiallyConsistent)
    }

    private func takeNext() -> TransitionLogEntry? {
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

/// Counts the lanes that have yet to pass an entry; the last one calls `completed`, once, on its
/// own context and under no lock.
@usableFromInline
final class Passage: Sendable {
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
