/// Performs what the gate decides.
extension StateMachine {
    /// An action of the gate's, and what was appended for it under the lock.
    struct Step: Sendable {
        let action: Gate<State>.Action
        let appended: Appended?
    }

    /// Proposes it at its turn.
    ///
    /// - Parameters:
    ///   - pending: what waits its turn.
    ///   - isLimited: whether it is refused where there is no room; its completion is told that too.
    func enqueue(_ pending: PendingProposal<State>, isLimited: Bool = true) {
        switch self.holder.withLock({ $0.gate.proposed(pending, isLimited: isLimited) }) {
        case .entered: self.pump()
        case .left: break
        case .refused: self.tell(pending, .failure(.overloaded(current: self.snapshot)))
        }
    }

    /// Has the proposal answered with ``TransitionError/withdrawn(current:)``, unless it is decided.
    ///
    /// Those behind it move up. Called from anywhere, under no lock.
    func withdraw(_ pending: PendingProposal<State>) {
        let (withdrawal, current) = self.holder.withLock { holder in
            (holder.gate.withdrawn(pending), holder.snapshot)
        }
        switch withdrawal {
        case .left:
            self.tell(pending, .failure(.withdrawn(current: current)))
            self.pump()
        case .isAsked(let ballot): ballot.withdraw()
        case .isEvaluated, .tooLate: break
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
    @_specialize(where State == DynamicState)
    package func holdGroups() -> Bool {
        self.holder.withLock { holder in
            holder.gate.held()
            return !holder.gate.voters.isEmpty
        }
    }

    /// Has the log given what gathered; without ``holdGroups()`` it does nothing.
    @_specialize(where State == AppState)
    @_specialize(where State == DynamicState)
    package func releaseGroups() { self.pump(from: self.after { $0.released(at: $1) }) }

    /// Moves the gate on until there is nothing it could do, unless somebody else is at it already.
    func pump() { self.pump(from: self.after { $0.pumped(at: $1) }) }

    /// Tells the gate of an event, and does what its answer wants done under the lock.
    ///
    /// The question that this closes, with the states that it was about, is let go of after the lock.
    private func after(
        _ event: (inout Gate<State>, Snapshot<State>) -> Gate<State>.Action?
    ) -> Step? {
        let (step, _) = self.holder.withLock { holder in
            let ballot = holder.gate.ballot
            let machine = holder.snapshot
            return (event(&holder.gate, machine).map { holder.take($0) }, ballot)
        }
        return step
    }

    /// For who has begun to pump, and knows the first step.
    private func pump(from first: Step?) {
        var step = first
        while let current = step {
            switch current.action {
            case .evaluateAll(let run, let base):
                let evaluated = self.evaluate(run, from: base)
                step = self.after { $0.evaluated(evaluated, at: $1) }
            case .evaluate(let pending, let base, let voters):
                let decision = self.evaluate(pending, base: base, voters: voters)
                step = self.after { gate, machine in
                    gate.evaluated(pending, as: decision, from: base, at: machine) {
                        verdict,
                        number in
                        self.holder.withLock { $0.gate.voted(verdict, on: number) }
                        self.pump()
                    }
                }
            case .confirm(let pending, let ballot):
                let entry = self.entry(of: pending.move, after: ballot.proposal)
                step = self.after { $0.confirmed(ballot, with: entry, at: $1) }
            case .commit(let group):
                self.options.log?.commit(group) { failure in
                    self.holder.withLock { $0.gate.committed(failure: failure) }
                    self.pump()
                }
                step = self.after { $0.performed(at: $1) }
            case .tell(let evaluated):
                self.tell(evaluated, of: current.appended)
                step = self.after { $0.performed(at: $1) }
            case .ask(let ballot, let question, let waited):
                let waited = waited?() ?? .zero
                ballot.setAlarms(under: question, waited: waited, clock: self.options.clock)
                if let appended = current.appended { self.announce(appended) }
                step = self.after { $0.performed(at: $1) }
            case .recast(let recast, let base):
                let decision = self.decision(on: recast, from: base)
                step = self.after { $0.recast(recast, as: decision, from: base, at: $1) }
            case .replace(let recast, let base, let state):
                recast.complete(
                    .same(Snapshot(seq: base.seq, state: state, at: base.at, stay: base.stay))
                )
                step = self.after { $0.performed(at: $1) }
            case .refuse(let recast, let why):
                recast.complete(.impossible(why))
                step = self.after { $0.performed(at: $1) }
            case .void(let ballot):
                ballot.withdraw()
                step = self.after { $0.performed(at: $1) }
            }
        }
    }

    // MARK: - Evaluating

    /// Evaluates each against the state as it will be after those before it; like all evaluating never under the
    /// lock.
    private func evaluate(
        _ run: [PendingProposal<State>],
        from base: Snapshot<State>
    ) -> [EvaluatedProposal<State>] {
        var base = base
        return run.map { pending in
            let fate: EvaluatedProposal<State>.Fate
            switch self.evaluate(pending, base: base, voters: []) {
            case .refuse(let error): fate = .answered(.failure(error))
            // Nobody is there to be asked.
            case .leave, .ask: fate = .answered(.success(.unchanged(base)))
            case .enter(let entry):
                fate = .entering(entry)
                base = entry.snapshot
            }
            return EvaluatedProposal(pending, fate)
        }
    }

    /// Runs the state's, the proposer's and the voters' own pure code, so never under the lock.
    private func evaluate(
        _ pending: PendingProposal<State>,
        base: Snapshot<State>,
        voters: [VoterMember<State>]
    ) -> Gate<State>.Decision {
        let new: State
        do {
            let found = try pending.move.state(
                from: base,
                assigningEqual: self.options.assigningEqual
            )
            guard let found else { return .leave }
            new = found
        } catch {
            return .refuse(error)
        }
        if let question = pending.question, pending.move.kind != .update {
            if !voters.isEmpty {
                let proposal = pending.move.proposal(of: new, at: base)
                let asked = self.present(voters).filter { !$0.isCancelled && $0.isAsked(proposal) }
                guard asked.isEmpty else { return .ask(asked, proposal, question) }
            }
            if let denials = question.denialsWithoutVoters {
                return .refuse(.denied(by: denials, current: base))
            }
        }
        return .enter(self.entry(of: pending.move, from: base, to: new))
    }

    /// What voters have agreed to; nil if the proposer does not want it any more.
    private func entry(
        of move: Move<State>,
        after proposal: Proposal<State>
    ) -> TransitionEntry<State>? {
        let base = proposal.current
        guard move.condition.isMet(by: base) else { return nil }
        return self.entry(of: move, from: base, to: proposal.proposed)
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

    // MARK: - Telling

    private func tell(_ evaluated: [EvaluatedProposal<State>], of appended: Appended?) {
        // Who listens on this very thread is told before any completion, and may wait for others.
        let isHeardHere = appended?.lanes.contains { !$0.hasTurns } ?? false
        guard !isHeardHere, let place = evaluated.first?.pending.place else {
            if let appended { self.announce(appended) }
            self.tell(evaluated[...])
            return
        }
        place.together {
            self.tell(evaluated[...])
            if let appended { self.announce(appended) }
        }
    }

    private func tell(_ pending: PendingProposal<State>, _ answer: Gate<State>.Answer) {
        self.tell([EvaluatedProposal(pending, .answered(answer))])
    }

    /// Completes each; those in a row that are completed in the same place are taken there together.
    private func tell(_ evaluated: ArraySlice<EvaluatedProposal<State>>) {
        var rest = evaluated
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
}

extension StateMachine.Holder {
    /// Does what an action wants done under the lock: enters states, puts a question.
    fileprivate mutating func take(_ action: Gate<State>.Action) -> StateMachine<State>.Step {
        switch action {
        case .evaluate, .evaluateAll, .confirm, .commit, .recast, .refuse, .void:
            return .init(action: action, appended: nil)
        case .replace(_, _, let state):
            self.replace(with: state)
            return .init(action: action, appended: nil)
        case .tell(let evaluated):
            let before = self.tail
            var isEntering = false
            for index in evaluated.indices {
                guard case .entering(let entry) = evaluated[index].fate else { continue }
                isEntering = true
                _ = self.enter(entry.new, as: entry, at: entry.at, stay: entry.stay)
            }
            let appended = isEntering ? self.appended(since: before) : nil
            return .init(action: action, appended: appended)
        case .ask(let ballot, _, _):
            let before = self.tail
            self.append(QuestionEntry(ballot))
            return .init(action: action, appended: self.appended(since: before))
        }
    }
}

extension Question {
    /// Who refuses if nobody is there to be asked; nil if that is consent.
    @usableFromInline var denialsWithoutVoters: [Denial]? {
        switch self.whenNobodyVotes {
        case .yes, .abstain: nil
        case .no(let why): [Denial(label: "nobody", why: why)]
        }
    }
}
