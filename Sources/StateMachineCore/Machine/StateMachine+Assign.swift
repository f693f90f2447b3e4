/// Past the voters.
extension StateMachine {
    /// Sets the state without asking a voter, unless that is illegal from here or the machine has
    /// moved on.
    ///
    /// It commits before it returns. On a machine with a write-ahead log it blocks the calling
    /// thread until the log has committed, but waits for no voter: it goes past proposals that wait
    /// for one, and makes an open question stale. So on such a machine it is for threads and queues
    /// that may block; code that may suspend has its own overload, which `await` picks. Where it
    /// would wait for itself, in code that the gate calls or where the log works
    /// (``WriteAheadLog/isCurrent``), it throws ``Refusal/wouldWait``.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - seq: if given, the seq that the machine has to be at.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func assign(
        _ new: State,
        ifSeq seq: UInt64? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) throws(TransitionError<State>) -> Acceptance {
        let move = Move(to: TypedValue(new), if: .init(seq: seq), reenter: reenter, cause: cause)
        return try Acceptance(self.machine.assign(move))
    }
}
