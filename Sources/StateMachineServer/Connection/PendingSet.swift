import StateMachineCore
import StateMachineProtocol
import Synchronization

/// A `set` that has not been decided: voters are being asked, others are before it, or it is on its way
/// to the disk.
///
/// Its identity is what counts: one that is no longer listed has been answered. Guarded state:
/// `phase` is atomic, since the machine asks at the proposal's turn, on whatever thread.
///
/// `@unchecked Sendable`: for that, and `owner` is touched on the loop only.
class PendingSet: @unchecked Sendable {
    final let request: ChangeRequest
    /// Whether it is answered in the order of the requests; one that votes may hold up is not.
    final let isOrdered: Bool

    private final let owner: Sets
    private final let phase = Atomic<Phase>(.waiting)
    /// Whether it counts as undecided; on the loop only.
    final var isCounted = true

    private enum Phase: UInt8, AtomicRepresentable {
        /// Its turn has not come.
        case waiting
        /// Its turn has come: it is decided, or others are asked about it.
        case evaluated
        /// It must not happen any more.
        case withdrawn
    }

    init(_ request: ChangeRequest, isOrdered: Bool, of owner: Sets) {
        self.request = request
        self.isOrdered = isOrdered
        self.owner = owner
    }

    /// Whether it was answered before its turn, and must not happen any more.
    final var isWithdrawn: Bool { self.phase.load(ordering: .sequentiallyConsistent) == .withdrawn }

    final func withdraw() { self.phase.store(.withdrawn, ordering: .sequentiallyConsistent) }

    /// Withdraws it if its turn has not come; returns whether that is so.
    final func withdrawIfWaiting() -> Bool {
        self.move(to: .withdrawn)
    }

    /// Its turn has come; returns whether it still may happen.
    final func turnCame() -> Bool { self.move(to: .evaluated) || !self.isWithdrawn }

    private final func move(to phase: Phase) -> Bool {
        self.phase.compareExchange(
            expected: .waiting,
            desired: phase,
            ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// Answers, on the loop.
    final func answer(_ outcome: SetOutcome) { self.owner.decided(self, outcome) }
}
