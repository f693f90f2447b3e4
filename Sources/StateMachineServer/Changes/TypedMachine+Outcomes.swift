import StateMachineCore
import StateMachineProtocol

/// What the machine answers, as the server has it.
extension TypedMachine {
    func outcome(_ error: TransitionError<State>) -> SetOutcome {
        .refused(error.reason, current: self.encoded(error.current))
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
