import StateMachineWire
import Synchronization

/// A `set` that has not been decided: voters are being asked, or others are before it.
///
/// Its identity is what counts: one that is no longer listed has been answered. Guarded state:
/// `isWithdrawn` is atomic, since the machine asks at the proposal's turn, on whatever thread.
final class PendingSet: Sendable {
    let id: RequestID?
    let call: SetCall

    private let withdrawn = Atomic<Bool>(false)

    init(id: RequestID?, call: SetCall) {
        self.id = id
        self.call = call
    }

    /// Whether it was answered before its turn, and must not happen any more.
    var isWithdrawn: Bool { self.withdrawn.load(ordering: .sequentiallyConsistent) }

    func withdraw() { self.withdrawn.store(true, ordering: .sequentiallyConsistent) }
}
