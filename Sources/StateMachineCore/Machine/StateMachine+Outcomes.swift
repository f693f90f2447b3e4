import Synchronization

extension Gate.Pending {
    /// What it leads to from there.
    func transition(from base: Snapshot<State>, at time: WallTime) -> Transition<State> {
        Transition(
            seq: base.seq + 1,
            old: base.state,
            new: self.new,
            at: time,
            cause: self.cause,
            by: self.by
        )
    }
}

/// What becomes of a proposal that is decided on, under the lock.
extension StateMachine.Holder {
    /// Answers the first proposal, after all that came before it.
    mutating func answer(
        _ pending: Gate<State>.Pending,
        _ answer: Gate<State>.Answer
    ) -> Step {
        self.gate.pending.removeFirst()
        let judged = Gate.Judged(pending: pending, fate: .answered(answer))
        guard self.gate.isQuiet else {
            self.gate.gathering.append(judged)
            return .again
        }
        return .tell(nil, [judged])
    }

    mutating func enter(_ pending: Gate<State>.Pending, from base: Snapshot<State>) -> Step {
        self.gate.pending.removeFirst()
        let transition = pending.transition(from: base, at: .now)
        let deliveryCount = self.unheard.map { unheard in
            DeliveryCount { wasHeard in if !wasHeard { unheard(transition) } }
        }
        let entry = TransitionEntry(transition, deliveryCount: deliveryCount)
        let judged = Gate.Judged(pending: pending, fate: .entering(entry))
        guard self.hasLog else {
            return .tell(self.appended(since: self.enter(entry)), [judged])
        }
        self.gate.gathering.append(judged)
        return .again
    }

    /// The voters have spoken.
    ///
    /// - Parameters:
    ///   - ballot: what they were asked.
    ///   - verdict: what they say.
    ///   - isExpected: whether the proposer still wants it.
    /// - Returns: the next step.
    mutating func close(
        _ ballot: Ballot<State>,
        with verdict: Verdict,
        isExpected: Bool = true
    ) -> Step {
        guard let pending = self.gate.pending.first else { return .again }
        let base = ballot.proposal.current
        guard !pending.isWithdrawn.load(ordering: .sequentiallyConsistent) else {
            return self.answer(pending, .failure(.withdrawn(current: self.snapshot)))
        }
        guard self.seq == base.seq else {
            return self.answer(pending, .failure(.stale(current: self.snapshot)))
        }
        guard isExpected else {
            return self.answer(pending, .failure(.conflict(current: base)))
        }
        switch verdict {
        case .yes: return self.enter(pending, from: base)
        case .no(let denials):
            return self.answer(pending, .failure(.denied(by: denials, current: base)))
        }
    }

    mutating func groupEnded(failure: String?) {
        switch self.gate.group {
        case .committing(let judged): self.gate.group = .ended(judged, failure: failure)
        case .none, .ended: preconditionFailure("a write-ahead log called `done` twice for a group")
        }
    }

    mutating func finish(_ judged: [Gate<State>.Judged], failure: String?) -> Step {
        guard let failure else {
            let before = self.tail
            for index in judged.indices {
                if case .entering(let entry) = judged[index].fate { _ = self.enter(entry) }
            }
            return .tell(self.appended(since: before), judged)
        }
        // What asks for a state that the group would have led to fails with it, for else it would be tried
        // again one by one. What else was judged against a state that will not be is judged again.
        let last = judged.last { $0.entry != nil }?.entry?.seq ?? self.seq
        let all = judged + self.gate.gathering
        let isFailed = all.enumerated().map { index, one in
            index < judged.count && one.entry != nil || one.repeats(after: self.seq, through: last)
        }
        let again = zip(all, isFailed).filter { !$0.1 }.map(\.0)
        let failed = zip(all, isFailed).filter { $0.1 }.map(\.0)
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
            failed.map { Gate.Judged(pending: $0.pending, fate: .answered(answer)) }
        )
    }

    /// Enters the state that a transition leads to, under the lock; the observer of `state` does the
    /// rest.
    private mutating func enter(_ entry: TransitionEntry<State>) -> LogEntry {
        self.enter(entry.new, as: entry, at: entry.at)
    }
}
