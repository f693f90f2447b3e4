import Synchronization

/// What the gate does about proposals that voters may have to be asked about, one at a time.
extension Gate {
    /// What to do about the first proposal, under no lock unless stated otherwise.
    enum Asking: Sendable {
        /// Decide on it: ``evaluated(_:as:from:at:decided:)``.
        case evaluate(Pending, from: Place, hasVoters: Bool)
        /// Put the question, at once and under the lock, then wake the voters: ``voted(_:on:)``.
        case put(Ballot, Question, waited: (@Sendable () -> Duration)?)
        /// The voters agree. Ask whether the proposer still does: ``confirmed(_:with:at:)``.
        case confirm(Pending, Ballot)
        /// Close a question whose answer no longer counts.
        case void(Ballot)
    }

    /// What the first proposal's evaluation came to.
    enum Decision: Sendable {
        case settle(Evaluated.Fate)
        case ask([VoterMember], Motion, Question)
    }

    // MARK: - Voters

    mutating func voterCame(_ voter: VoterMember) { self.voters.add(voter) }

    /// - Returns: the question that is open, in which the voter abstains.
    mutating func voterWent(_ voter: VoterMember) -> Ballot? {
        self.voters.remove(voter)
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
        from base: Place,
        at machine: Place,
        decided: @escaping @Sendable (Verdict, _ question: UInt64) -> Void
    ) -> Action? {
        guard pending.isStillWanted else {
            return self.answer(
                pending,
                .failure(Refused(.withdrawn, current: machine)),
                machine
            )
        }
        guard self.ahead(of: machine).seq == base.seq else { return self.next(machine) }
        switch decision {
        case .settle(let fate): return self.settle(Evaluated(pending, fate), machine)
        case .ask(let voters, let motion, let question):
            guard self.groups.areQuiet else {
                self.question.awaitQuiet()
                return self.next(machine)
            }
            // A voter cancelled after this finds the ballot, and is released from it.
            let present = voters.filter { !$0.isCancelled }
            guard !present.isEmpty else { return self.next(machine) }
            let ballot = self.question.put(
                on: motion,
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
        _ ballot: Ballot,
        with entry: ChangeEntry?,
        at machine: Place
    ) -> Action? {
        let base = ballot.motion.current
        guard let entry else {
            return self.close(
                ballot,
                with: .answered(.failure(Refused(.conflict, current: base))),
                machine
            )
        }
        return self.close(ballot, with: .entering(entry), machine)
    }

    /// Acts on the voters' verdict.
    mutating func decided(
        _ verdict: Verdict,
        by ballot: Ballot,
        at machine: Place
    ) -> Action? {
        self.question.wait()
        switch verdict {
        case .yes:
            guard let pending = self.queue.first else { return self.next(machine) }
            return .asking(.confirm(pending, ballot))
        case .no(let denials):
            let error = Refused(
                .denied(by: denials),
                current: ballot.motion.current
            )
            return self.close(ballot, with: .answered(.failure(error)), machine)
        }
    }

    private mutating func answer(
        _ pending: Pending,
        _ answer: Answer,
        _ machine: Place
    ) -> Action? {
        self.settle(Evaluated(pending, .answered(answer)), machine)
    }

    /// Removes the proposal from the queue; its proposer is told after all that came before it.
    private mutating func settle(_ evaluated: Evaluated, _ machine: Place) -> Action? {
        self.queue.removeFirst()
        let isDue = evaluated.entry == nil ? self.groups.areQuiet : !self.hasLog
        guard !isDue else { return .tell([evaluated]) }
        self.groups.gather(evaluated)
        return self.next(machine)
    }

    /// Carries out what the voters decided, unless the machine has moved past the gate meanwhile.
    private mutating func close(
        _ ballot: Ballot,
        with fate: Evaluated.Fate,
        _ machine: Place
    ) -> Action? {
        guard let pending = self.queue.first else { return self.next(machine) }
        guard pending.isStillWanted else {
            return self.answer(
                pending,
                .failure(Refused(.withdrawn, current: machine)),
                machine
            )
        }
        guard machine.seq == ballot.motion.current.seq else {
            return self.answer(
                pending,
                .failure(Refused(.stale, current: machine)),
                machine
            )
        }
        return self.settle(Evaluated(pending, fate), machine)
    }
}

/// Performs what the gate decides about such proposals.
extension Machine {
    /// Performs what the gate decides about a proposal that voters may have to be asked about.
    ///
    /// - Parameters:
    ///   - asking: what to do.
    ///   - news: whom to wake for what was appended under the lock.
    /// - Returns: the next step.
    func perform(_ asking: Gate.Asking, of news: News?) -> Step? {
        switch asking {
        case .evaluate(let pending, let base, let hasVoters):
            let decision = self.evaluate(pending, base: base, hasVoters: hasVoters)
            return self.after { gate, machine in
                gate.evaluated(pending, as: decision, from: base, at: machine) { verdict, number in
                    self.holder.withLock { $0.gate.voted(verdict, on: number) }
                    self.pump()
                }
            }
        case .put(let ballot, let question, let waited):
            let waited = waited?() ?? .zero
            ballot.setAlarms(under: question, waited: waited, clock: self.options.clock)
            if let news { self.announce(news) }
        case .confirm(let pending, let ballot):
            let entry = self.entry(of: pending.move, after: ballot.motion)
            return self.after { $0.confirmed(ballot, with: entry, at: $1) }
        case .void(let ballot): ballot.withdraw()
        }
        return self.after { $0.performed(at: $1) }
    }

    /// Evaluates the first proposal, and determines which voters want to be asked.
    private func evaluate(
        _ pending: PendingProposal,
        base: Place,
        hasVoters: Bool
    ) -> Gate.Decision {
        let new: Value?
        do {
            new = try pending.move.state(from: base, announcingEqual: self.options.announcesEqual)
        } catch {
            return .settle(.answered(.failure(error)))
        }
        if let new, hasVoters, let question = pending.questionToPut {
            let motion = pending.move.motion(to: new, at: base)
            let asked = self.voters(on: motion)
            guard asked.isEmpty else { return .ask(asked, motion, question) }
        }
        return .settle(self.fate(of: pending, into: new, from: base))
    }

    /// The transition that voters have agreed to; nil if the proposer no longer wants it.
    private func entry(
        of move: Move,
        after motion: Motion
    ) -> ChangeEntry? {
        let base = motion.current
        guard move.condition.isMet(by: base) else { return nil }
        return self.entry(of: move, from: base, to: motion.proposed)
    }
}

extension Question {
    /// The denials if there is nobody to ask; nil if that is consent.
    var denialsWithoutVoters: [Vote.Denial]? {
        switch self.whenNobodyVotes {
        case .yes, .abstain: nil
        case .no(let why): [Vote.Denial(label: "nobody", why: why)]
        }
    }
}
