import Synchronization

/// One entry of the log that all lanes of a machine read, and a link to the next.
///
/// Appending costs the same whoever reads. Following a link needs no lock. An entry lives as long as
/// a reader has not passed it, and is freed by reference counting.
///
/// Guarded state: `link` is written once, by the machine under its lock, and read by every lane.
final class TransitionLogEntry<State: MachineState>: Sendable {
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
    let position: UInt64
    let content: Content
    /// Who is told when every lane has passed; nil if nobody asked.
    let passage: Passage?

    private let link = Atomic<Unmanaged<TransitionLogEntry>?>(nil)

    init(_ content: Content, position: UInt64, passage: Passage? = nil) {
        self.content = content
        self.position = position
        self.passage = passage
    }

    var next: TransitionLogEntry? {
        self.link.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue()
    }

    /// Makes `entry` the one that follows: once for each entry, under the machine's lock.
    func append(_ entry: TransitionLogEntry) {
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
final class Passage: Sendable {
    private let left: Atomic<Int>
    private let wasHeard = Atomic<Bool>(false)
    private let completed: @Sendable (_ wasHeard: Bool) -> Void

    init(lanes: Int, completed: @escaping @Sendable (_ wasHeard: Bool) -> Void) {
        self.left = Atomic(lanes)
        self.completed = completed
    }

    func pass(hearing isHeard: Bool) {
        if isHeard { self.wasHeard.store(true, ordering: .sequentiallyConsistent) }
        guard self.left.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
        self.completed(self.wasHeard.load(ordering: .sequentiallyConsistent))
    }

    /// For an entry that no lane has to pass.
    func completeUnheard() { self.completed(false) }
}
