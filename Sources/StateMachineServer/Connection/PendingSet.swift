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
    final let id: RequestID?
    /// Nil: nothing is asked for but the state.
    final let call: SetCall?
    final let state: EncodedState
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
        case judged
        /// It must not happen any more.
        case withdrawn
    }

    init(
        _ state: EncodedState,
        _ call: SetCall?,
        id: RequestID?,
        isOrdered: Bool,
        of owner: Sets
    ) {
        self.id = id
        self.call = call
        self.state = state
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
    final func turnCame() -> Bool { self.move(to: .judged) || !self.isWithdrawn }

    private final func move(to phase: Phase) -> Bool {
        self.phase.compareExchange(
            expected: .waiting,
            desired: phase,
            ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// Answers, on the loop, that it happened.
    final func answer(committed seq: UInt64, at time: WallTime) {
        // What was entered is what was asked for, which is encoded already.
        self.answer(.committed(EncodedSnapshot(seq: seq, state: self.state, at: time)))
    }

    /// Answers, on the loop.
    final func answer(_ outcome: SetOutcome) { self.owner.decided(self, outcome) }
}

/// The same, of a machine of states of one type, so that what the machine is to call holds one object.
final class TypedSet<State: MachineState>: PendingSet, @unchecked Sendable {
    let machine: TypedMachine<State>

    init(
        _ machine: TypedMachine<State>,
        _ state: TypedState<State>,
        _ call: SetCall?,
        id: RequestID?,
        isOrdered: Bool,
        of owner: Sets
    ) {
        self.machine = machine
        super.init(state, call, id: id, isOrdered: isOrdered, of: owner)
    }

    var typed: TypedState<State> { unsafeDowncast(self.state, to: TypedState<State>.self) }

    /// Whether it is to happen where the machine stands then.
    func isExpected(_ snapshot: Snapshot<State>) -> Bool {
        guard self.turnCame() else { return false }
        guard let call = self.call else { return true }
        return self.machine.coding.matches(call.ifSeq, call.ifState, snapshot)
    }
}
