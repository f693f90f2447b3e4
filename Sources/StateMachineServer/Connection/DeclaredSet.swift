import StateMachineCore
import StateMachineProtocol

/// A `set` of a state that a file declares, which has not been decided: at its turn that may be another file.
///
/// `@unchecked Sendable`: `found` is written at its turn, and read when it is answered, which is later.
final class DeclaredSet<State: MachineState>: PendingSet, @unchecked Sendable {
    /// What it came to at its turn.
    enum Found: Sendable {
        /// That state, which is encoded already.
        case state(TypedState<State>)
        /// What is in force by now does not have the state.
        case rejected(WireError)
        /// It may not follow the one that it found.
        case illegal
    }

    private let typed: TypedState<State>
    private let call: SetCall?
    private let machine: TypedMachine<State>
    @exclusivity(unchecked) private(set) var found: Found

    init(
        _ machine: TypedMachine<State>,
        _ state: TypedState<State>,
        _ call: SetCall?,
        id: RequestID?,
        isOrdered: Bool,
        of owner: Sets
    ) {
        self.typed = state
        self.call = call
        self.machine = machine
        self.found = .state(state)
        super.init(.state(state, call), id: id, isOrdered: isOrdered, of: owner)
    }

    /// Whether it is to happen where the machine stands then.
    func isExpected(_ snapshot: Snapshot<State>) -> Bool {
        guard self.turnCame() else { return false }
        guard let call = self.call else { return true }
        return self.machine.coding.matches(call.ifSeq, call.ifState, call.ifStay, snapshot)
    }

    /// The state that it leads to from there; nil if nothing is to change.
    func state(from snapshot: Snapshot<State>) -> State? {
        self.found = self.find(from: snapshot.state)
        guard case .state(let typed) = self.found else { return nil }
        return typed.state
    }

    private func find(from present: State) -> Found {
        var typed = self.typed
        do {
            let coding = self.machine.coding
            if let state = try coding.behaviour?.restated(self.typed.state, in: present) {
                typed = TypedState(state, coding)
                try typed.checkLength()
            }
        } catch {
            return .rejected(error)
        }
        // A state may always be set again from itself, and then changes nothing.
        let isLegal = present == typed.state || present.mayBecome(typed.state)
        return isLegal ? .state(typed) : .illegal
    }
}
