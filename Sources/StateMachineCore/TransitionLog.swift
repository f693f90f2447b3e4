import Synchronization

/// One entry of the log that all lanes of a machine read: a transition and a link to the next.
///
/// Appending costs the same whoever reads. Reading needs no lock. An entry lives as long as a reader
/// has not passed it, and is freed by reference counting.
///
/// Guarded state: `link` is written once, by the machine under its lock, and read by every lane.
final class TransitionLogEntry<State: MachineState>: Sendable {
    /// Nil only in the entry that a log begins with.
    let transition: Transition<State>?

    private let link = Atomic<Unmanaged<TransitionLogEntry>?>(nil)

    init(_ transition: Transition<State>?) {
        self.transition = transition
    }

    var next: TransitionLogEntry? {
        self.link.load(ordering: .sequentiallyConsistent)?.takeUnretainedValue()
    }

    /// Makes `entry` the one that follows. Once for each entry, under the machine's lock.
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
