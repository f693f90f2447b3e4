// The entry points for code that may suspend: `await` picks them, and no thread waits.
extension StateMachine {
    /// Proposes a state and waits, without a thread, for what becomes of it.
    ///
    /// Proposals are decided one at a time, in order of arrival, each against the state as it is at
    /// its turn: is it as expected, is it legal, do the voters agree, is it durable. An error means
    /// that nothing has changed.
    ///
    /// Cancelling the task withdraws the proposal: before its turn, and while voters are asked about it, it
    /// ends with ``Refusal/withdrawn``, and those behind it move up. Once it was evaluated
    /// and is with the write-ahead log it is too late for that: then it ends with what becomes of it, so
    /// that an error always means that nothing has changed.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - question: how voters are asked.
    ///   - isExpected: pure, and may be called again; nil: always.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func propose(
        _ new: State,
        asking question: Question = Question(),
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) async throws(TransitionError<State>) -> Acceptance {
        let move = Self.move(to: new, expecting: isExpected, reenter: reenter, cause: cause)
        return try await self.outcome { completion in
            self.machine.begin(move, asking: question, completion: completion)
        }
    }

    /// Sends an event: what follows is made of the state as it is at the event's turn.
    ///
    /// It is a proposal like any other, and the transition's cause is the event's name.
    ///
    /// ```swift
    /// try await machine.send("coin inserted") { state in
    ///     if case .waiting(let coins) = state { .waiting(coins: coins + 1) } else { nil }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - event: its name.
    ///   - question: how voters are asked.
    ///   - next: pure, and may be called again; the next state, nil where the event means nothing.
    /// - Returns: the transition, or where the machine was if nothing follows.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @discardableResult
    public func send(
        _ event: String,
        asking question: Question = Question(),
        becoming next: @escaping @Sendable (State) -> State?
    ) async throws(TransitionError<State>) -> Acceptance {
        let following: @Sendable (Value) -> Value? = { value in
            next(TypedValue<State>.state(of: value)).map { TypedValue($0) }
        }
        let move = Move(to: .event(following), as: .enter, cause: event)
        return try await self.outcome { completion in
            self.machine.begin(move, asking: question, completion: completion)
        }
    }

    /// Sets the state without asking a voter, unless that is illegal from here or the machine has
    /// moved on; suspends where it has to wait for a write-ahead log.
    ///
    /// As the overload that blocks, but never throws ``Refusal/wouldWait``.
    /// Cancelling the task withdraws it like a proposal.
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
    ) async throws(TransitionError<State>) -> Acceptance {
        let move = Move(to: TypedValue(new), if: .init(seq: seq), reenter: reenter, cause: cause)
        return try await self.outcome { completion in
            if let answer = self.machine.enterAtOnce(move, asking: .past) {
                completion(answer)
                return nil
            }
            return self.machine.propose(move, asking: nil, completion: completion)
        }
    }

    /// Waits for what becomes of what `begin` proposes.
    ///
    /// - Parameter begin: returns its proposal, so that it can be withdrawn; nil if it is decided.
    /// - Returns: what became of it.
    /// - Throws: ``TransitionError``.
    private func outcome(
        of begin: (_ completion: @escaping @Sendable (Move.Answer) -> Void) -> PendingProposal?
    ) async throws(TransitionError<State>) -> Acceptance {
        guard !Task.isCancelled else { throw TransitionError(.withdrawn, current: self.snapshot) }
        let withdrawal = Withdrawal()
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let pending = begin { continuation.resume(returning: $0) }
                guard let pending else { return }
                withdrawal.has { self.machine.withdraw(pending) }
            }
        } onCancel: {
            withdrawal.withdraw()
        }
        return try Acceptance(answer)
    }
}
