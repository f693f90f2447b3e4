extension StateMachine {
    /// What became of a proposal that was not refused.
    public enum Acceptance: Hashable, Sendable {
        /// The state was assigned.
        case committed(Transition<State>)
        /// The machine was in that state already; nothing happened.
        case unchanged(Snapshot<State>)
    }

    /// Sets the state, unless that is illegal from here or the machine is not as expected.
    ///
    /// It commits before it returns. Proposals from several threads are judged one after the other,
    /// each against the state as it is at its turn.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - isExpected: pure, and may be asked again if another thread was faster; the proposal goes
    ///     on only if it holds for the state that it replaces.
    ///   - reenter: makes a transition even of a state equal to the current one.
    ///   - cause: why, carried by the transition.
    ///   - by: who, if not the process itself.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func propose(
        _ new: State,
        expecting isExpected: (Snapshot<State>) -> Bool = { _ in true },
        reenter: Bool = false,
        cause: String? = nil,
        by: Peer? = nil
    ) throws(TransitionError<State>) -> Acceptance {
        while true {
            // Judged outside the lock, since judging runs the state's own code; the commit below
            // holds only if nothing has moved meanwhile.
            let current = self.snapshot
            guard isExpected(current) else { throw .conflict(current: current) }
            if current.state == new && !reenter { return .unchanged(current) }
            let allowed = current.state.successors
            guard allowed.contains(new.name) || current.state == new else {
                throw .illegal(current: current, allowed: allowed)
            }
            if let transition = self.commit(new, ifSeq: current.seq, cause: cause, by: by) {
                return .committed(transition)
            }
        }
    }

    private func commit(
        _ new: State,
        ifSeq seq: UInt64,
        cause: String?,
        by: Peer?
    ) -> Transition<State>? {
        let committed = self.holder.withLock {
            holder -> (entry: TransitionLogEntry<State>, lanes: [Lane<State>])? in
            guard holder.seq == seq else { return nil }
            holder.cause = cause
            holder.by = by
            holder.state = new
            return (holder.tail, holder.lanes)
        }
        guard let committed else { return nil }
        for lane in committed.lanes { lane.wake() }
        return committed.entry.transition
    }
}
