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
    /// What is asked for.
    enum Wanted: Sendable {
        /// That state; without a call nothing but the state.
        case state(EncodedState, SetCall?)
        /// What comes of an event, or of an update.
        case event(EventCall)
    }

    final let id: RequestID?
    final let wanted: Wanted
    /// Whether it is an event, whose answer says whether the state asks for it.
    final var isSend: Bool {
        if case .event(.send) = self.wanted { true } else { false }
    }
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
        _ wanted: Wanted,
        id: RequestID?,
        isOrdered: Bool,
        of owner: Sets
    ) {
        self.id = id
        self.wanted = wanted
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

    /// Answers, on the loop.
    final func answer(_ outcome: SetOutcome) { self.owner.decided(self, outcome) }
}

/// The same, of a machine of states of one type, so that what the machine is to call holds one object.
final class TypedSet<State: MachineState>: PendingSet, @unchecked Sendable {
    let machine: TypedMachine<State>
    let typed: TypedState<State>

    init(
        _ machine: TypedMachine<State>,
        _ state: TypedState<State>,
        _ call: SetCall?,
        id: RequestID?,
        isOrdered: Bool,
        of owner: Sets
    ) {
        self.machine = machine
        self.typed = state
        super.init(.state(state, call), id: id, isOrdered: isOrdered, of: owner)
    }

    /// Whether it is to happen where the machine stands then.
    func isExpected(_ snapshot: Snapshot<State>) -> Bool {
        guard self.turnCame() else { return false }
        guard case .state(_, let call?) = self.wanted else { return true }
        return self.machine.coding.matches(call.ifSeq, call.ifState, call.ifStay, snapshot)
    }
}

/// An event or an update that has not been decided.
///
/// `@unchecked Sendable`: `found` is written at its turn, and read when it is answered, which is later.
final class TypedEvent<State: MachineState>: PendingSet, @unchecked Sendable {
    /// What it came to at its turn.
    enum Found: Sendable {
        /// That state, which is encoded already.
        case state(TypedState<State>)
        /// Nothing changes; whether the deadline begins anew.
        case handled(renewing: Bool)
        /// The state does not ask for it.
        case unhandled
        case rejected(WireError)
    }

    private let coding: StateCoding<State>
    private let call: EventCall
    /// Called at its turn, with where it finds the machine, if the deadline is to begin anew.
    private let willRenew: @Sendable (Snapshot<State>) -> Void
    @exclusivity(unchecked) private(set) var found = Found.unhandled

    init(
        _ call: EventCall,
        _ coding: StateCoding<State>,
        id: RequestID?,
        isOrdered: Bool,
        renewing willRenew: @escaping @Sendable (Snapshot<State>) -> Void,
        of owner: Sets
    ) {
        self.call = call
        self.willRenew = willRenew
        self.coding = coding
        super.init(.event(call), id: id, isOrdered: isOrdered, of: owner)
    }

    /// Whether it is to happen where the machine stands then.
    func isExpected(_ snapshot: Snapshot<State>) -> Bool {
        guard self.turnCame() else { return false }
        return switch self.call {
        case .send(let call):
            self.coding.matches(call.ifSeq, call.ifState, call.ifStay, snapshot)
        case .update(let call): self.coding.matches(nil, nil, call.ifStay, snapshot)
        }
    }

    /// The state that it leads to from there; nil if nothing is to change.
    func state(from snapshot: Snapshot<State>) -> State? {
        self.found = self.find(from: snapshot)
        guard case .state(let typed) = self.found else { return nil }
        return typed.state
    }

    private func find(from snapshot: Snapshot<State>) -> Found {
        guard let behaviour = self.coding.behaviour else { return .unhandled }
        let state = snapshot.state
        do {
            switch self.call {
            case .send(let call):
                let data = call.data?.members ?? []
                switch try behaviour.reaction(to: call.event, data: data, in: state) {
                case .enter(let next): return .state(try self.typed(next))
                case .stay:
                    self.willRenew(snapshot)
                    return .handled(renewing: true)
                case .ignore: return .handled(renewing: false)
                case .unhandled: return .unhandled
                }
            case .update(let call):
                let given = FieldWords(values: call.data?.members ?? [], words: call.words)
                let data = given.members(typedBy: behaviour.fields(of: state))
                return .state(try self.typed(behaviour.updated(state, with: data)))
            }
        } catch {
            return .rejected(error)
        }
    }

    private func typed(_ state: State) throws(WireError) -> TypedState<State> {
        let typed = TypedState(state, self.coding)
        try typed.checkLength()
        return typed
    }
}
