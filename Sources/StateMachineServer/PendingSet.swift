import StateMachineCore
import StateMachineWire
import Synchronization

/// A `set` that has not been decided: voters are being asked, others are before it, or it is on its way
/// to the disk.
///
/// Its identity is what counts: one that is no longer listed has been answered. Guarded state:
/// `isWithdrawn` is atomic, since the machine asks at the proposal's turn, on whatever thread.
///
/// `@unchecked Sendable`: for that, and `connection` is touched on the loop only.
final class PendingSet: @unchecked Sendable {
    let id: RequestID?
    let call: SetCall
    let state: EncodedState
    /// Whether it is answered in the order of the requests; one that votes may hold up is not.
    let isOrdered: Bool

    private let connection: Connection
    private let withdrawn = Atomic<Bool>(false)

    init(
        _ state: EncodedState,
        _ call: SetCall,
        id: RequestID?,
        isOrdered: Bool,
        of connection: Connection
    ) {
        self.id = id
        self.call = call
        self.state = state
        self.isOrdered = isOrdered
        self.connection = connection
    }

    /// Whether it was answered before its turn, and must not happen any more.
    var isWithdrawn: Bool { self.withdrawn.load(ordering: .sequentiallyConsistent) }

    func withdraw() { self.withdrawn.store(true, ordering: .sequentiallyConsistent) }

    /// Answers, on the loop, that it happened.
    func answer(committed seq: UInt64, at time: WallTime) {
        // What was entered is what was asked for, which is encoded already.
        self.answer(.committed(EncodedSnapshot(seq: seq, state: self.state, at: time)))
    }

    /// Answers, on the loop.
    func answer(_ outcome: SetOutcome) { self.connection.decided(self, outcome) }
}
