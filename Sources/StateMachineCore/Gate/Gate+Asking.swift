import Synchronization

/// What the gate does about proposals that voters may have to be asked about, one at a time.
///
/// Not inlinable, unlike what waits for the log alone: a question costs more than the code that puts it.
extension Gate {
    /// What to do about the first proposal, under no lock unless stated otherwise.
    @usableFromInline
    enum Asking: Sendable {
        /// Decide on it: ``evaluated(_:as:from:at:decided:)``.
        case evaluate(Pending, from: Snapshot<State>, asking: [VoterMember<State>])
        /// Put the question, at once and under the lock, then wake the voters: ``voted(_:on:)``.
        case put(Ballot<State>, Question, waited: (@Sendable () -> Duration)?)
        /// The voters agree. Ask whether the proposer still does: ``confirmed(_:with:at:)``.
        case confirm(Pending, Ballot<State>)
        /// Close a question whose answer no longer counts.
        case void(Ballot<State>)
    }

    /// What the first proposal's evaluation came to.
    enum Decision: Sendable {
        case settle(Evaluated.Fate)
        case ask([VoterMember<State>], Proposal<State>, Question)
    }

    // MARK: - Voters

    mutating func voterCame(_ voter: VoterMember<State>) {
        self.voters.append(voter)
        self.votersVersion += 1
    }

    /// - Returns: the question that is open, in which the voter abstains.
    mutating func voterWent(_ voter: VoterMember<State>) -> Ballot<State>? {
        self.voters.removeAll { $0 === voter }
        guard case .asked(let ballot) = self.question.stage else { return nil }
        return ballot
    }

    /// Records the voters' verdict on the question of that number; then the caller has to pump.
    mutating func voted(_ verdict: Verdict, on number: UInt64) {
        self.question.decided(verdict, on: number)
    }

    // MARK: - The first proposal

    /// Records the decision on the first proposal, as evaluated from `base`.
    ///
    /// - Parameters:
    ///   - pending: the proposal.
    ///   - decision: what is to become of it.
    ///   - base: where the machine was, or was to be.
    ///   - machine: where it is.
    ///   - decided: called with the voters' verdict and the number of the question.
    /// - Returns: the next action.
    mutating func evaluated(
        _ pending: Pending,
        as decision: Decision,
        from base: Snapshot<State>,
        at machine: Snapshot<State>,
        decided: @escaping @Sendable (Verdict, _ question: UInt64) -> Void
    ) -> Action? {
        guard !pending.isWithdrawn.load(ordering: .sequentiallyConsistent) else {
            return self.answer(
                pending,
                .failure(TransitionError(.withdrawn, current: machine)),
                machine
            )
        }
        guard self.ahead(of: machine).seq == base.seq else { return self.next(machine) }
        switch decision {
        case .settle(let fate): return self.settle(Evaluated(pending, fate), machine)
        case .ask(let voters, let proposal, let question):
            guard self.groups.areQuiet else {
                self.question.awaitQuiet()
                return self.next(machine)
            }
            // A voter cancelled after this finds the ballot, and is released from it.
            let present = voters.filter { !$0.isCancelled }
            guard !present.isEmpty else { return self.next(machine) }
            let ballot = self.question.put(
                on: proposal,
                under: question,
                to: present,
                decided: decided
            )
            return .asking(.put(ballot, question, waited: pending.waited))
        }
    }

    /// Records the proposer's answer when asked once more.
    ///
    /// - Parameters:
    ///   - ballot: what the voters agreed to.
    ///   - entry: the transition that it makes; nil if it is no longer wanted.
    ///   - machine: where the machine is.
    /// - Returns: the next action.
    mutating func confirmed(
        _ ballot: Ballot<State>,
        with entry: TransitionEntry<State>?,
        at machine: Snapshot<State>
    ) -> Action? {
        let base = ballot.proposal.current
        guard let entry else {
            return self.close(
                ballot,
                with: .answered(.failure(TransitionError(.conflict, current: base))),
                machine
            )
        }
        return self.close(ballot, with: .entering(entry), machine)
    }

    /// Acts on the voters' verdict.
    @usableFromInline
    mutating func decided(
        _ verdict: Verdict,
        by ballot: Ballot<State>,
        at machine: Snapshot<State>
    ) -> Action? {
        self.question.wait()
        switch verdict {
        case .yes:
            guard let pending = self.queue.first else { return self.next(machine) }
            return .asking(.confirm(pending, ballot))
        case .no(let denials):
            let error = TransitionError(
                .denied(by: denials),
                current: ballot.proposal.current
            )
            return self.close(ballot, with: .answered(.failure(error)), machine)
        }
    }

    private mutating func answer(
        _ pending: Pending,
        _ answer: Answer,
        _ machine: Snapshot<State>
    ) -> Action? {
        self.settle(Evaluated(pending, .answered(answer)), machine)
    }

    /// Removes the proposal from the queue; its proposer is told after all that came before it.
    private mutating func settle(_ evaluated: Evaluated, _ machine: Snapshot<State>) -> Action? {
        self.queue.removeFirst()
        let isDue = evaluated.entry == nil ? self.groups.areQuiet : !self.hasLog
        guard !isDue else { return .tell([evaluated]) }
        self.groups.gather(evaluated)
        return self.next(machine)
    }

    /// Carries out what the voters decided, unless the machine has moved past the gate meanwhile.
    private mutating func close(
        _ ballot: Ballot<State>,
        with fate: Evaluated.Fate,
        _ machine: Snapshot<State>
    ) -> Action? {
        guard let pending = self.queue.first else { return self.next(machine) }
        guard !pending.isWithdrawn.load(ordering: .sequentiallyConsistent) else {
            return self.answer(
                pending,
                .failure(TransitionError(.withdrawn, current: machine)),
                machine
            )
        }
        guard machine.seq == ballot.proposal.current.seq else {
            return self.answer(
                pending,
                .failure(TransitionError(.stale, current: machine)),
                machine
            )
        }
        return self.settle(Evaluated(pending, fate), machine)
    }
}

/// Performs what the gate decides about such proposals.
extension StateMachine {
    /// Performs what the gate decides about a proposal that voters may have to be asked about.
    ///
    /// - Parameters:
    ///   - asking: what to do.
    ///   - appended: what was appended for it under the lock.
    /// - Returns: the next step.
    @usableFromInline
    func perform(_ asking: Gate<State>.Asking, of appended: Appended?) -> Step? {
        switch asking {
        case .evaluate(let pending, let base, let voters):
            let decision = self.evaluate(pending, base: base, voters: voters)
            return self.after { gate, machine in
                gate.evaluated(pending, as: decision, from: base, at: machine) { verdict, number in
                    self.holder.withLock { $0.gate.voted(verdict, on: number) }
                    self.pump()
                }
            }
        case .put(let ballot, let question, let waited):
            let waited = waited?() ?? .zero
            ballot.setAlarms(under: question, waited: waited, clock: self.options.clock)
            if let appended { self.announce(appended) }
        case .confirm(let pending, let ballot):
            let entry = self.entry(of: pending.move, after: ballot.proposal)
            return self.after { $0.confirmed(ballot, with: entry, at: $1) }
        case .void(let ballot): ballot.withdraw()
        }
        return self.after { $0.performed(at: $1) }
    }

    /// Evaluates the first proposal, and determines which voters want to be asked.
    private func evaluate(
        _ pending: PendingProposal<State>,
        base: Snapshot<State>,
        voters: [VoterMember<State>]
    ) -> Gate<State>.Decision {
        let new: State?
        do {
            new = try pending.move.state(from: base, announcingEqual: self.options.announcesEqual)
        } catch {
            return .settle(.answered(.failure(error)))
        }
        if let new, !voters.isEmpty, let question = pending.questionToPut {
            let proposal = pending.move.proposal(of: new, at: base)
            let asked = self.present(voters).filter { !$0.isCancelled && $0.isAsked(proposal) }
            guard asked.isEmpty else { return .ask(asked, proposal, question) }
        }
        return .settle(self.fate(of: pending, into: new, from: base))
    }

    /// The transition that voters have agreed to; nil if the proposer no longer wants it.
    private func entry(
        of move: Move<State>,
        after proposal: Proposal<State>
    ) -> TransitionEntry<State>? {
        let base = proposal.current
        guard move.condition.isMet(by: base) else { return nil }
        return self.entry(of: move, from: base, to: proposal.proposed)
    }

    /// The voters that are still there; one that is gone leaves the gate, so no proposal waits for
    /// it.
    ///
    /// Called under no lock, like everything that loads weak references.
    func present(_ voters: [VoterMember<State>]) -> [VoterMember<State>] {
        voters.filter { voter in
            guard voter.isGone else { return true }
            self.end(voter)
            return false
        }
    }
}

extension StateMachine.Holder {
    @usableFromInline
    mutating func put(_ ballot: Ballot<State>) -> StateMachine<State>.Appended {
        let before = self.tail
        self.append(QuestionEntry(ballot))
        return self.appended(since: before)
    }
}

extension Question {
    /// The denials if there is nobody to ask; nil if that is consent.
    @usableFromInline var denialsWithoutVoters: [Vote.Denial]? {
        switch self.whenNobodyVotes {
        case .yes, .abstain: nil
        case .no(let why): [Vote.Denial(label: "nobody", why: why)]
        }
    }
}
