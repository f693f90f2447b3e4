/// How the gate moves on.
extension StateMachine {
    /// What the gate wants done, outside the lock.
    enum Step: Sendable {
        case judge(Gate<State>.Pending, base: Snapshot<State>, voters: [VoterMember<State>])
        /// Nobody is asked, and nothing moves meanwhile.
        case judgeRun([Gate<State>.Pending], base: Snapshot<State>)
        /// The voters agree: whether the proposer still does.
        case confirm(Gate<State>.Pending, Ballot<State>)
        case commit([Transition<State>])
        case tell(Appended?, [Gate<State>.Judged])
        case ask(
            Ballot<State>,
            Question,
            waited: (@Sendable () -> Duration)?,
            Appended
        )
        case again
    }

    /// Moves the gate on until there is nothing it could do, unless somebody else is at it already.
    func pump() { self.pump(from: self.next { $0.beginPumping() }) }

    /// What the gate wants done next, `decide` says; the question that this closes, with the states that it
    /// was about, is let go of after the lock.
    private func next(_ decide: (inout Holder) -> Step?) -> Step? {
        let (step, _) = self.holder.withLock { holder in
            let poll = holder.gate.poll
            return (decide(&holder), poll)
        }
        return step
    }

    /// The same for who has begun to pump, and knows the first step.
    func pump(from first: Step?) {
        var step = first
        while let current = step {
            if case .judgeRun(let run, let base) = current {
                let judged = self.judge(run, from: base)
                step = self.next { holder in
                    holder.gate.gather(judged)
                    return holder.nextStep()
                }
            } else if case .judge(let pending, let base, let voters) = current {
                let decision = self.judge(pending, base: base, voters: voters)
                step = self.next { holder in
                    let settled = holder.settle(pending, as: decision, base: base) { verdict in
                        self.votersDecided(verdict)
                    }
                    // One turn of the lock a proposal, not two.
                    if case .again = settled { return holder.nextStep() }
                    return settled
                }
            } else if case .confirm(let pending, let ballot) = current {
                let isExpected = pending.isExpected(ballot.proposal.current)
                step = self.next { holder in
                    holder.close(ballot, with: .yes, isExpected: isExpected)
                }
            } else {
                self.perform(current)
                step = self.next { $0.nextStep() }
            }
        }
    }

    /// Has what is proposed from now on gather until ``releaseGroups()``, so that a burst is
    /// committed together and not one by one.
    ///
    /// For who has more to propose at once, and never waits before it releases. A group that is big
    /// enough does not wait, nor does one with an assignment, whose thread waits for it.
    ///
    /// - Returns: whether anybody might be asked about a proposal.
    @_specialize(where State == AppState)
    package func holdGroups() -> Bool {
        self.holder.withLock { holder in
            holder.gate.isHeld = holder.hasLog
            return !holder.gate.voters.isEmpty
        }
    }

    /// Has the log given what gathered; without ``holdGroups()`` it does nothing.
    @_specialize(where State == AppState)
    package func releaseGroups() {
        let step = self.next { holder in
            holder.gate.isHeld = false
            return holder.beginPumping()
        }
        self.pump(from: step)
    }

    private func perform(_ step: Step) {
        switch step {
        case .judge, .judgeRun, .confirm, .again: break
        case .commit(let group):
            self.options.log?.commit(group) { failure in
                self.holder.withLock { $0.groupEnded(failure: failure) }
                self.pump()
            }
        case .tell(let appended, let judged):
            // Who listens on this very thread is told before any completion, and may wait for others.
            let isHeardHere = appended?.lanes.contains { !$0.hasTurns } ?? false
            guard !isHeardHere, let place = judged.first?.pending.place else {
                if let appended { self.announce(appended) }
                self.tell(judged[...])
                return
            }
            place.together {
                self.tell(judged[...])
                if let appended { self.announce(appended) }
            }
        case .ask(let ballot, let question, let waited, let appended):
            ballot.setAlarms(under: question, waited: waited?() ?? .zero, clock: self.options.clock)
            self.announce(appended)
        }
    }

    /// Completes each; those in a row that are completed in the same place are taken there together.
    func tell(_ judged: ArraySlice<Gate<State>.Judged>) {
        var rest = judged
        while let first = rest.first {
            guard let place = first.pending.place else {
                first.complete()
                rest.removeFirst()
                continue
            }
            let end = rest.firstIndex { $0.pending.place !== place } ?? rest.endIndex
            let run = rest[..<end]
            rest = rest[end...]
            // By index: an iterator copies each.
            place.run { for index in run.indices { run[index].complete() } }
        }
    }

    private func votersDecided(_ verdict: Verdict) {
        self.holder.withLock { holder in
            guard case .open(let ballot) = holder.gate.poll else { return }
            holder.gate.poll = .decided(ballot, verdict)
        }
        self.pump()
    }

    /// Judges each against the state as it will be after those before it; like all judging never under the
    /// lock.
    private func judge(
        _ run: [Gate<State>.Pending],
        from base: Snapshot<State>
    ) -> [Gate<State>.Judged] {
        var base = base
        // Read after the base, so a later seq never has an earlier reading.
        let now = WallTime.now
        return run.map { pending in
            let fate: Gate<State>.Judged.Fate
            switch self.judge(pending, base: base, voters: []) {
            case .refuse(let error): fate = .answered(.failure(error))
            // Nobody is there to be asked.
            case .leave, .ask: fate = .answered(.success(.unchanged(base)))
            case .enter:
                let transition = pending.transition(from: base, at: now)
                fate = .entering(
                    TransitionEntry(transition, deliveryCount: self.deliveryCount(of: transition))
                )
                base = Snapshot(seq: transition.seq, state: transition.new, at: now)
            }
            return Gate.Judged(pending: pending, fate: fate)
        }
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
        let asked = self.present(voters).filter { !$0.isCancelled && $0.isAsked(proposal) }
        guard asked.isEmpty else { return .ask(asked, question) }
        if let denials = question.denialsWithoutVoters {
            return .refuse(.denied(by: denials, current: base))
        }
        return .enter
    }

    /// Those who are still there; whoever is gone leaves the gate, and so never has a proposal wait.
    ///
    /// Under no lock, as all that looks at what is held weakly.
    func present(_ voters: [VoterMember<State>]) -> [VoterMember<State>] {
        voters.filter { voter in
            guard voter.isGone else { return true }
            self.end(voter)
            return false
        }
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
