import StateMachineWire
import Synchronization

/// A `set` that has not been decided: voters are being asked, others are before it, or it is on its way
/// to the disk.
///
/// Its identity is what counts: one that is no longer listed has been answered. Guarded state:
/// `isWithdrawn` is atomic, since the machine asks at the proposal's turn, on whatever thread.
final class PendingSet: Sendable {
    let id: RequestID?
    let call: SetCall
    /// Whether it is answered in the order of the requests; one that votes may hold up is not.
    let isOrdered: Bool

    private let withdrawn = Atomic<Bool>(false)

    init(id: RequestID?, call: SetCall, isOrdered: Bool) {
        self.isOrdered = isOrdered
        self.id = id
        self.call = call
    }

    /// Whether it was answered before its turn, and must not happen any more.
    var isWithdrawn: Bool { self.withdrawn.load(ordering: .sequentiallyConsistent) }

    func withdraw() { self.withdrawn.store(true, ordering: .sequentiallyConsistent) }
}
