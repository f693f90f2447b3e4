extension StateMachine {
    /// What became of a proposal that was not refused.
    public enum Acceptance: Equatable, Sendable {
        /// The state was assigned.
        case committed(Transition<State>)
        /// The machine was in that state already; nothing happened.
        case unchanged(Snapshot<State>)
    }

    /// Sets the state at once, unless that is illegal from here or the machine is not as expected.
    ///
    /// It commits before it returns. Proposals from several threads are evaluated one after the
    /// other, each against the state as it is at its turn. It throws
    /// ``Refusal/wouldWait`` if it cannot decide without waiting: if a voter has
    /// to be asked, if the machine has a write-ahead log, or if earlier proposals wait their turn.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - isExpected: pure, and may be called again if another thread was faster; the proposal
    ///     goes on only if it holds for the state that it replaces. Nil: always.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func proposeAtOnce(
        _ new: State,
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) throws(TransitionError<State>) -> Acceptance {
        let move = Self.move(to: new, expecting: isExpected, reenter: reenter, cause: cause)
        let answer = self.machine.enterAtOnce(move, asking: .nobody(denials: nil))
        guard let answer else { throw TransitionError(.wouldWait, current: self.snapshot) }
        return try Acceptance(answer)
    }

    /// Proposes a state; `completion` is called with what became of it, once.
    ///
    /// Proposals are decided one at a time, in order of arrival, each against the state as it is at
    /// its turn: is it as expected, is it legal, do the voters agree, is it durable. An error means
    /// that nothing has changed. If there is nobody to wait for, it is decided, and `completion`
    /// called, before this returns; else `completion` is called by the thread that brings the
    /// decision, after `.immediate` delegates have been told. No thread waits.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - question: how voters are asked.
    ///   - isExpected: pure, and may be called again; the proposal goes on only if it holds for the
    ///     state that it replaces. Nil: always.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    ///   - completion: called with the outcome; it must not block.
    package func propose(
        _ new: State,
        asking question: Question = Question(),
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil,
        completion:
            @escaping @Sendable (Result<Acceptance, TransitionError<State>>) -> Void
    ) {
        let move = Self.move(to: new, expecting: isExpected, reenter: reenter, cause: cause)
        self.machine.begin(move, asking: question) { answer in
            completion(
                Result { () throws(TransitionError<State>) in try Acceptance(answer) }
            )
        }
    }

    static func move(
        to new: State,
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)?,
        reenter: Bool,
        cause: String?
    ) -> Move {
        Move(
            to: TypedValue(new),
            if: isExpected.map { isExpected in .holds { isExpected(Snapshot($0)) } } ?? .none,
            reenter: reenter,
            cause: cause
        )
    }
}

extension StateMachine.Acceptance {
    /// What the engine has answered.
    ///
    /// - Throws: why it has refused.
    init(_ answer: Move.Answer) throws(TransitionError<State>) {
        switch answer {
        case .success(.committed(let change)): self = .committed(Transition(change))
        case .success(.unchanged(let place)): self = .unchanged(Snapshot(place))
        case .failure(let refused): throw TransitionError(refused)
        }
    }
}

extension Machine {
    /// Decides at once if that is possible, and else in turn.
    ///
    /// - Returns: the proposal, if it has to wait its turn.
    @discardableResult
    func begin(
        _ move: Move,
        asking question: Question,
        completion: @escaping @Sendable (Move.Answer) -> Void
    ) -> PendingProposal? {
        let denials = question.denialsWithoutVoters
        if let answer = self.enterAtOnce(move, asking: .nobody(denials: denials)) {
            completion(answer)
            return nil
        }
        return self.propose(move, asking: question, completion: completion)
    }
}
