import StateMachineCore
import StateMachineProtocol

/// What the machine answers, as the server has it.
extension TypedMachine {
    func outcome(_ error: TransitionError<State>) -> SetOutcome {
        switch error {
        case .illegal(let current, let allowed):
            let names = self.schema.names.filter(Set(allowed.map(\.rawValue)).contains)
            return .refused(.illegal(allowed: names), current: self.encoded(current))
        case .conflict(let current):
            return .refused(.conflict, current: self.encoded(current))
        case .denied(let denials, let current):
            return .refused(.denied(denials), current: self.encoded(current))
        case .stale(let current):
            return .refused(.stale, current: self.encoded(current))
        case .notCommitted(let why, let current):
            return .refused(.notCommitted(why: why), current: self.encoded(current))
        case .overloaded(let current):
            return .refused(.overloaded, current: self.encoded(current))
        case .wouldWait(let current):
            return .refused(.wouldWait, current: self.encoded(current))
        case .withdrawn(let current):
            return .refused(.withdrawn, current: self.encoded(current))
        }
    }

    func encoded(_ snapshot: Snapshot<State>) -> EncodedSnapshot {
        let state = self.encoded(snapshot.state)
        return EncodedSnapshot(
            seq: snapshot.seq,
            state: state,
            at: snapshot.at,
            stay: self.stays?.stay(at: snapshot, state.deadline)
        )
    }

    func encoded(_ transition: Transition<State>) -> EncodedSnapshot {
        self.encoded(transition.mark, self.encoded(transition.new))
    }

    /// The same, of a state that is encoded already.
    func encoded(_ mark: TransitionMark, _ state: TypedState<State>) -> EncodedSnapshot {
        EncodedSnapshot(
            seq: mark.seq,
            state: state,
            at: mark.at,
            stay: self.stays?.stay(after: mark, state.deadline)
        )
    }
}
