import Synchronization

// What happens to a proposal whose proposer does not want it any more.
extension StateMachine {
    /// Has the proposal answered with ``TransitionError/withdrawn(current:)``, unless it is decided.
    ///
    /// Those behind it move up. Called from anywhere, under no lock.
    func withdraw(_ pending: Gate<State>.Pending) {
        switch self.holder.withLock({ $0.withdraw(pending) }) {
        case .left(let current):
            let answer = Gate<State>.Answer.failure(.withdrawn(current: current))
            self.tell([Gate.Judged(pending: pending, fate: .answered(answer))])
            self.pump()
        case .isAsked(let ballot): ballot.withdraw()
        case .isJudged, .tooLate: break
        }
    }
}

/// Where a proposal was that is withdrawn.
private enum Withdrawn<State: MachineState> {
    /// In the queue, which it has left.
    case left(Snapshot<State>)
    /// Before the voters: their ballot is to end.
    case isAsked(Ballot<State>)
    /// Before the pump, which finds that it is withdrawn.
    case isJudged
    /// Decided.
    case tooLate
}

extension StateMachine.Holder {
    fileprivate mutating func withdraw(_ pending: Gate<State>.Pending) -> Withdrawn<State> {
        if let index = self.gate.assignments.firstIndex(where: { $0 === pending }) {
            self.gate.assignments.remove(at: index)
            return .left(self.snapshot)
        }
        guard let index = self.gate.pending.firstIndex(where: { $0 === pending }) else {
            return .tooLate
        }
        pending.isWithdrawn.store(true, ordering: .sequentiallyConsistent)
        if index == self.gate.pending.startIndex {
            switch self.gate.poll {
            case .open(let ballot): return .isAsked(ballot)
            case .decided: return .isJudged
            case .awaitingQuiet: self.gate.poll = .none
            case .none:
                // The pump may have it in its hands.
                guard self.gate.pumper == nil else { return .isJudged }
            }
        }
        self.gate.pending.remove(at: index)
        return .left(self.snapshot)
    }
}
