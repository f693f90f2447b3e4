import Synchronization

/// How many of a machine's lanes sleep, so that a setter on a busy machine reads one number instead
/// of looking at every lane.
///
/// Never too low: a lane counts itself before it sleeps, and is counted off after it was woken.
/// Retired lanes do not count; lanes that are drained inline always do.
final class LaneSleepers: Sendable {
    let count = Atomic<Int>(0)

    var isEmpty: Bool { self.count.load(ordering: .sequentiallyConsistent) == 0 }

    func comes() { self.count.add(1, ordering: .sequentiallyConsistent) }

    func leaves() { self.count.subtract(1, ordering: .sequentiallyConsistent) }
}
