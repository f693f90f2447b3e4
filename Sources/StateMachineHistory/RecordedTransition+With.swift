import StateMachineCore
import StateMachineProtocol

extension RecordedTransition {
    /// The same transition, leading to that state.
    func with(new: State) -> RecordedTransition { self.with(new: new, due: self.due) }

    /// The same transition, with that due.
    func with(due: String?) -> RecordedTransition { self.with(new: self.new, due: due) }

    private func with(new: State, due: String?) -> RecordedTransition {
        RecordedTransition(
            seq: self.seq,
            old: self.old,
            new: new,
            at: self.at,
            cause: self.cause,
            by: self.by,
            stay: self.stay,
            due: due
        )
    }
}
