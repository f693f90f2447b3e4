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
    @inlinable
    @discardableResult
    public func proposeAtOnce(
        _ new: State,
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) throws(TransitionError<State>) -> Acceptance {
        let straight = self.acceptAtOnce(
            Move(to: new, if: .init(isExpected), reenter: reenter, cause: cause),
            under: nil
        )
        guard let straight else { throw TransitionError(.wouldWait, current: self.snapshot) }
        return try straight.get()
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
    @inlinable
    package func propose(
        _ new: State,
        asking question: Question = Question(),
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil,
        completion:
            @escaping @Sendable (Result<Acceptance, TransitionError<State>>) -> Void
    ) {
        let move = Move(to: new, if: .init(isExpected), reenter: reenter, cause: cause)
        _ = self.begin(move, asking: question, completion: completion)
    }

    /// Proposes; returns it if it has to wait its turn.
    @inlinable
    func begin(
        _ move: Move<State>,
        asking question: Question,
        completion:
            @escaping @Sendable (Result<Acceptance, TransitionError<State>>) -> Void
    ) -> PendingProposal<State>? {
        if let straight = self.acceptAtOnce(move, under: question) {
            completion(straight)
            return nil
        }
        return self.enqueue(move, asking: question, completion: completion)
    }

    @usableFromInline
    func enqueue(
        _ move: Move<State>,
        asking question: Question,
        completion:
            @escaping @Sendable (Result<Acceptance, TransitionError<State>>) -> Void
    ) -> PendingProposal<State> {
        let pending = PendingProposal(
            move,
            asking: question,
            waited: stopwatch(on: self.options.clock),
            completion: .answer(completion)
        )
        self.enqueue(pending)
        return pending
    }

    /// Proposes a state that ``decideAtOnce(_:)`` could not decide on.
    ///
    /// - Parameters:
    ///   - new: the state, which has to be one that may follow.
    ///   - isExpected: pure; whether the state that it replaces is as expected.
    ///   - terms: the rest of what is proposed.
    ///   - completion: called with the outcome; it must not block.
    package func propose(
        _ new: State,
        if isExpected: @escaping @Sendable (Snapshot<State>) -> Bool,
        _ terms: ProposalTerms,
        completion: @escaping @Sendable (MoveOutcome<State>) -> Void
    ) {
        self.code.propose(self, new, isExpected, terms, completion)
    }

    /// Proposes what the function makes of the state at its turn; see ``Move/Target/made(_:)``.
    package func propose(
        madeBy make: @escaping @Sendable (Snapshot<State>) -> State?,
        if isExpected: @escaping @Sendable (Snapshot<State>) -> Bool,
        _ terms: ProposalTerms,
        completion: @escaping @Sendable (MoveOutcome<State>) -> Void
    ) {
        self.code.proposeMade(self, make, isExpected, terms, completion)
    }

    /// Both, specialized for the type known at the call site.
    @inlinable
    func proposeHere(
        _ target: Move<State>.Target,
        if isExpected: @escaping @Sendable (Snapshot<State>) -> Bool,
        _ terms: ProposalTerms,
        completion: @escaping @Sendable (MoveOutcome<State>) -> Void
    ) {
        self.enqueueHere(
            PendingProposal(
                Move(
                    to: target,
                    if: .holds(isExpected),
                    as: terms.kind,
                    cause: terms.cause,
                    by: terms.setter
                ),
                asking: Question(),
                waited: terms.isTimed ? stopwatch(on: self.options.clock) : nil,
                place: terms.place,
                completion: .outcome(completion)
            ),
            isLimited: true
        )
    }

    /// Decides at once, or returns nil if that would mean waiting.
    package func decideAtOnce(_ move: consuming Move<State>) -> MoveOutcome<State>? {
        self.code.decide(self, move)
    }

    /// The same, specialized for the type known at the call site.
    @inlinable
    func decideHere(_ move: consuming Move<State>) -> MoveOutcome<State>? {
        self.decided(
            move,
            under: nil,
            committed: { _, _, _, mark in .committed(mark) },
            unchanged: { .unchanged($0) },
            refused: { .refused($0) }
        )
    }

    /// Enters the state at once.
    ///
    /// - Returns: nil if it is refused, is already the state, or has to wait; ``decideAtOnce(_:)``
    ///   tells which.
    package func enterAtOnce(
        _ new: State,
        ifSeq seq: UInt64?,
        reenter: Bool,
        cause: String?,
        by peer: CompactPeer
    ) -> TransitionMark? {
        self.code.enter(self, new, seq, reenter, cause, peer)
    }

    /// As ``decideAtOnce(_:)``, for callers that need the whole transition.
    @inlinable
    func acceptAtOnce(
        _ move: consuming Move<State>,
        under question: Question?
    ) -> Result<Acceptance, TransitionError<State>>? {
        self.decided(
            move,
            under: question,
            committed: { move, base, new, mark in
                .success(.committed(move.transition(from: base, to: new, mark)))
            },
            unchanged: { .success(.unchanged($0)) },
            refused: { .failure($0) }
        )
    }

    /// The outcome of a move that can be decided without waiting, as the closures build it; nil if
    /// it cannot.
    @inlinable
    @inline(__always)
    func decided<Outcome>(
        _ move: Move<State>,
        under question: Question?,
        committed: (Move<State>, Snapshot<State>, State, TransitionMark) -> Outcome,
        unchanged: (Snapshot<State>) -> Outcome,
        refused: (TransitionError<State>) -> Outcome
    ) -> Outcome? {
        while true {
            // Evaluated outside the lock, since evaluating runs client code; the commit below holds only
            // if nothing has moved meanwhile.
            let (base, hasVoters, version, isFree) = self.holder.withLock { holder in
                (
                    holder.snapshot,
                    !holder.gate.voters.isEmpty,
                    holder.gate.votersVersion,
                    holder.gate.isFree
                )
            }
            guard isFree else { return nil }
            let new: State
            do {
                let found = try move.state(from: base, announcingEqual: self.options.announcesEqual)
                guard let found else { return unchanged(base) }
                new = found
            } catch {
                return refused(error)
            }
            guard !hasVoters || !self.isAnybodyAsked(about: move, into: new, from: base)
            else { return nil }
            if let denials = question?.denialsWithoutVoters {
                return refused(TransitionError(.denied(by: denials), current: base))
            }
            let mark = self.commit(
                move,
                to: new,
                from: base,
                if: { $0.gate.isFree(since: version) }
            )
            if let mark { return committed(move, base, new, mark) }
        }
    }

    @usableFromInline
    func isAnybodyAsked(
        about move: Move<State>,
        into new: State,
        from base: Snapshot<State>
    ) -> Bool {
        let voters = self.holder.withLock { $0.gate.voters }
        let proposal = move.proposal(of: new, at: base)
        return self.present(voters).contains { $0.isAsked(proposal) }
    }
}
