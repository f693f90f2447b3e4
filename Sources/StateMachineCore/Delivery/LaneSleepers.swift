public import Synchronization

/// How many of a machine's lanes sleep, so that a setter on a busy machine reads one number instead
/// of looking at every lane.
///
/// Never too low: a lane counts itself before it sleeps, and is counted off after it was woken.
/// Retired lanes do not count; lanes that are drained inline always do.
@usableFromInline
final class LaneSleepers: Sendable {
    @usableFromInline let count = Atomic<Int>(0)

    @inlinable var isEmpty: Bool { self.count.load(ordering: .sequentiallyConsistent) == 0 }

    @inlinable
    func comes() { self.count.add(1, ordering: .sequentiallyConsistent) }

    @inlinable
    func leaves() { self.count.subtract(1, ordering: .sequentiallyConsistent) }
}
