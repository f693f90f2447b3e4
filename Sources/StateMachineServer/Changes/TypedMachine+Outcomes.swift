import StateMachineCore
import StateMachineProtocol

/// What the machine answers, as the server has it.
extension TypedMachine {
    func outcome(_ refused: Refused) -> SetOutcome {
        .refused(refused.reason, current: self.encoded(Snapshot(refused.current)))
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
        self.encoded(transition.change.place, self.encoded(transition.new))
    }

    /// The same, of a state that is encoded already.
    func encoded(_ place: Place, _ state: TypedState<State>) -> EncodedSnapshot {
        EncodedSnapshot(
            seq: place.seq,
            state: state,
            at: place.at,
            stay: self.stays?.stay(after: place, state.deadline)
        )
    }
}
