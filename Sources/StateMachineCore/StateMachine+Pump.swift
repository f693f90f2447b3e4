/// How the gate moves on.
extension StateMachine {
    /// What the gate wants done, outside the lock.
    enum Step: Sendable {
        case judge(Gate<State>.Pending, base: Snapshot<State>, voters: [VoterMember<State>])
        case commit([Transition<State>])
        case tell(Appended?, [Gate<State>.Call])
        case ask(Ballot<State>, Question, waited: @Sendable () -> Duration, Appended)
        case again
    }

    /// Moves the gate on until there is nothing it could do, unless somebody else is at it already.
    func pump() {
        guard self.holder.withLock({ $0.gate.beginPumping() }) else { return }
        while let step = self.holder.withLock({ $0.nextStep() }) {
            var next = step
            if case .judge(let pending, let base, let voters) = step {
                let decision = self.judge(pending, base: base, voters: voters)
                next = self.holder.withLock { holder in
                    holder.settle(pending, as: decision, base: base) { verdict in
                        self.votersDecided(verdict)
                    }
                }
            }
            self.perform(next)
        }
    }

    private func perform(_ step: Step) {
        switch step {
        case .judge, .again: break
        case .commit(let group):
            self.options.log?.commit(group) { failure in
                self.holder.withLock { $0.groupEnded(failure: failure) }
                self.pump()
            }
        case .tell(let appended, let calls):
            if let appended { self.announce(appended) }
            for call in calls { call.pending.completion(call.answer) }
        case .ask(let ballot, let question, let waited, let appended):
            ballot.setAlarms(under: question, waited: waited(), clock: self.options.clock)
            self.announce(appended)
        }
    }

    private func votersDecided(_ verdict: Verdict) {
        self.holder.withLock { holder in
            guard case .open(let ballot) = holder.gate.poll else { return }
            holder.gate.poll = .decided(ballot, verdict)
        }
        self.pump()
    }

    /// Runs the state's, the proposer's and the voters' own pure code, so never under the lock.
    private func judge(
        _ pending: Gate<State>.Pending,
        base: Snapshot<State>,
        voters: [VoterMember<State>]
    ) -> Gate<State>.Decision {
        do {
            guard
                try self.changes(
                    base,
                    to: pending.new,
                    expecting: pending.isExpected,
                    reenter: pending.reenter
                )
            else { return .leave }
        } catch {
            return .refuse(error)
        }
        guard let question = pending.question else { return .enter }
        let proposal = Proposal(
            current: base,
            proposed: pending.new,
            cause: pending.cause,
            by: pending.by
        )
        let asked = voters.filter { !$0.isCancelled && $0.isAsked(proposal) }
        guard asked.isEmpty else { return .ask(asked, question) }
        if let denials = question.denialsWithoutVoters {
            return .refuse(.denied(by: denials, current: base))
        }
        return .enter
    }

    /// Whether assigning `new` to a machine at `base` makes a transition.
    @inlinable
    func changes(
        _ base: Snapshot<State>,
        to new: State,
        expecting isExpected: (Snapshot<State>) -> Bool,
        reenter: Bool
    ) throws(TransitionError<State>) -> Bool {
        guard isExpected(base) else { throw .conflict(current: base) }
        if base.state == new {
            // A state may always be entered again from itself.
            switch self.options.assigningEqual {
            case .ignored: return reenter
            case .announced: return true
            }
        }
        guard base.state.mayBecome(new.name) else {
            throw .illegal(current: base, allowed: base.state.successors)
        }
        return true
    }
}

extension Question {
    /// Who refuses if nobody is there to be asked; nil if that is consent.
    var denialsWithoutVoters: [Denial]? {
        switch self.whenNobodyVotes {
        case .yes, .abstain: nil
        case .no(let why): [Denial(label: "nobody", why: why)]
        }
    }
}

extension StateMachine.Holder {
    fileprivate typealias Step = StateMachine<State>.Step

    fileprivate mutating func nextStep() -> Step? {
        if case .ended(let judged, let failure) = self.gate.group {
            self.gate.group = .none
            return self.finish(judged, failure: failure)
        }
        switch self.gate.poll {
        case .none: break
        case .awaitingQuiet:
            if self.gate.isQuiet { self.gate.poll = .none }
        case .open: break
        case .decided(let ballot, let verdict):
            // Whether an assignment that is on its way makes it stale is seen when that has ended.
            guard self.seq != ballot.proposal.current.seq || self.isWhereItWillBe else { break }
            self.gate.poll = .none
            return self.close(ballot, with: verdict)
        }
        if let first = self.gate.assignments.first,
            self.gate.gathering.count < Gate<State>.groupLimit
        {
            return .judge(first, base: self.ahead, voters: [])
        }
        if case .none = self.gate.poll, let first = self.gate.pending.first,
            self.gate.gathering.count < Gate<State>.groupLimit
        {
            return .judge(first, base: self.ahead, voters: self.gate.voters)
        }
        if case .none = self.gate.group, !self.gate.gathering.isEmpty {
            let judged = self.gate.gathering
            self.gate.gathering = []
            let group = judged.compactMap(\.transition)
            if group.isEmpty {
                self.gate.group = .ended(judged, failure: nil)
                return .again
            }
            self.gate.group = .committing(judged)
            return .commit(group)
        }
        self.gate.pumper = nil
        return nil
    }

    /// The machine as it will be when everything judged so far has happened.
    private var ahead: Snapshot<State> {
        guard let last = self.gate.lastJudged else { return self.snapshot }
        return Snapshot(seq: last.seq, state: last.new, at: last.at)
    }

    /// Whether nothing that was judged has yet to happen.
    private var isWhereItWillBe: Bool { self.gate.lastJudged == nil }

    /// Files the decision on the first proposal, unless the machine has moved meanwhile.
    fileprivate mutating func settle(
        _ pending: Gate<State>.Pending,
        as decision: Gate<State>.Decision,
        base: Snapshot<State>,
        ending: @escaping @Sendable (Verdict) -> Void
    ) -> Step {
        guard self.ahead.seq == base.seq else { return .again }
        switch decision {
        case .refuse(let error): return self.answer(pending, .failure(error))
        case .leave: return self.answer(pending, .success(.unchanged(base)))
        case .enter: return self.enter(pending, from: base)
        case .ask(let voters, let question):
            guard self.gate.isQuiet else {
                self.gate.poll = .awaitingQuiet
                return .again
            }
            // Whoever is cancelled after this finds the ballot, and is released from it.
            let present = voters.filter { !$0.isCancelled }
            guard !present.isEmpty else { return .again }
            let ballot = Ballot(
                on: Proposal(
                    current: base,
                    proposed: pending.new,
                    cause: pending.cause,
                    by: pending.by
                ),
                under: question,
                voters: present,
                decided: ending
            )
            self.gate.poll = .open(ballot)
            let before = self.tail
            self.append(QuestionEntry(ballot))
            return .ask(
                ballot,
                question,
                waited: pending.waited,
                self.appended(since: before)
            )
        }
    }

    private mutating func leaveQueue(_ pending: Gate<State>.Pending) {
        if pending.question == nil {
            self.gate.assignments.removeFirst()
        } else {
            self.gate.pending.removeFirst()
        }
    }

    private mutating func answer(
        _ pending: Gate<State>.Pending,
        _ answer: Gate<State>.Answer
    ) -> Step {
        self.leaveQueue(pending)
        guard self.gate.isQuiet else {
            self.gate.gathering.append(
                Gate.Judged(pending: pending, transition: nil, answer: answer)
            )
            return .again
        }
        return .tell(nil, [(pending, answer)])
    }

    private mutating func enter(_ pending: Gate<State>.Pending, from base: Snapshot<State>) -> Step
    {
        self.leaveQueue(pending)
        let transition = Transition(
            seq: base.seq + 1,
            old: base.state,
            new: pending.new,
            at: .now,
            cause: pending.cause,
            by: pending.by
        )
        guard self.hasLog else {
            return .tell(self.enter(transition), [(pending, .success(.committed(transition)))])
        }
        self.gate.gathering.append(
            Gate.Judged(
                pending: pending,
                transition: transition,
                answer: .success(.committed(transition))
            )
        )
        return .again
    }

    /// The voters have spoken.
    private mutating func close(_ ballot: Ballot<State>, with verdict: Verdict) -> Step {
        guard let pending = self.gate.pending.first else { return .again }
        let base = ballot.proposal.current
        guard self.seq == base.seq else {
            return self.answer(pending, .failure(.stale(current: self.snapshot)))
        }
        switch verdict {
        case .yes: return self.enter(pending, from: base)
        case .no(let denials):
            return self.answer(pending, .failure(.denied(by: denials, current: base)))
        }
    }

    fileprivate mutating func groupEnded(failure: String?) {
        switch self.gate.group {
        case .committing(let judged): self.gate.group = .ended(judged, failure: failure)
        case .none, .ended: preconditionFailure("a write-ahead log called `done` twice for a group")
        }
    }

    private mutating func finish(_ judged: [Gate<State>.Judged], failure: String?) -> Step {
        guard let failure else {
            let before = self.tail
            for transition in judged.lazy.compactMap(\.transition) { _ = self.enter(transition) }
            return .tell(
                self.appended(since: before),
                judged.map { ($0.pending, $0.answer) }
            )
        }
        // What was refused or judged against a state that will not be is judged again.
        let again = judged.filter { $0.transition == nil } + self.gate.gathering
        self.gate.gathering = []
        let pending = again.map(\.pending)
        self.gate.assignments.insert(contentsOf: pending.filter { $0.question == nil }, at: 0)
        self.gate.pending.insert(contentsOf: pending.filter { $0.question != nil }, at: 0)
        if case .awaitingQuiet = self.gate.poll { self.gate.poll = .none }
        let answer = Gate<State>.Answer.failure(
            .notCommitted(why: failure, current: self.snapshot)
        )
        return .tell(
            nil,
            judged.filter { $0.transition != nil }.map { ($0.pending, answer) }
        )
    }

    /// Enters the state that a transition leads to, under the lock; the observer of `state` does the
    /// rest.
    private mutating func enter(_ transition: Transition<State>) -> StateMachine<State>.Appended {
        let passage = self.unheard.map { unheard in
            Passage { wasHeard in if !wasHeard { unheard(transition) } }
        }
        return self.enter(
            transition.new,
            as: TransitionEntry(transition, passage: passage),
            at: transition.at
        )
    }
}
