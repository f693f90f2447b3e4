import Synchronization

/// What the gate does next: decides under the lock, and does nothing.
extension StateMachine.Holder {
    typealias Step = StateMachine<State>.Step

    /// Becomes the pump, unless there is one.
    ///
    /// - Returns: the first step; nil if there is nothing to do here, and then nobody has begun.
    mutating func beginPumping() -> Step? {
        guard self.gate.beginPumping() else { return nil }
        return self.nextStep()
    }

    /// The next step of the pump; with nil it has ended.
    mutating func nextStep() -> Step? {
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
            guard case .yes = verdict, let pending = self.gate.pending.first else {
                return self.close(ballot, with: verdict)
            }
            return .confirm(pending, ballot)
        }
        if let run = self.gate.takeRun(hasLog: self.hasLog) {
            return .judgeRun(run, base: self.ahead)
        }
        if case .none = self.gate.poll, let first = self.gate.pending.first,
            self.gate.gathering.count < Gate<State>.groupLimit, !self.gate.isAwaitingMore
        {
            return .judge(first, base: self.ahead, voters: self.gate.voters)
        }
        if case .none = self.gate.group, self.gate.isReady {
            let judged = self.gate.gathering
            self.gate.gathering = []
            let group = judged.compactMap { $0.entry?.transition }
            if group.isEmpty {
                self.gate.group = .ended(judged, failure: nil)
                return .again
            }
            self.gate.group = .committing(judged)
            self.gate.groups += 1
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
    mutating func settle(
        _ pending: Gate<State>.Pending,
        as decision: Gate<State>.Decision,
        base: Snapshot<State>,
        ending: @escaping @Sendable (Verdict) -> Void
    ) -> Step {
        guard !pending.isWithdrawn.load(ordering: .sequentiallyConsistent) else {
            return self.answer(pending, .failure(.withdrawn(current: self.snapshot)))
        }
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
}
