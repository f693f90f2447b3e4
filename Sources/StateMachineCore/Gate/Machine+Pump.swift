/// Performs what the gate decides.
extension Machine {
    /// An action of the gate, and whom to wake for what was appended under the lock.
    struct Step: Sendable {
        let action: Gate.Action
        let news: News
    }

    /// The way in that waits its turn: `completion` is called with what became of the move, once; at a cursor not if its
    /// registration has been cancelled, or its context has ended, since nothing may be called there then.
    ///
    /// - Parameters:
    ///   - move: what is asked for.
    ///   - question: how voters are asked; nil: nobody is.
    ///   - cursor: where the completion is called, after all changes up to then; nil: where it is decided.
    ///   - isLimited: whether it is refused if there is no room, and takes room.
    ///   - completion: called with the outcome; it must not block.
    /// - Returns: the proposal, so that it can be withdrawn.
    @discardableResult
    package func propose(
        _ move: Move,
        asking question: Question?,
        at cursor: Drain? = nil,
        isLimited: Bool = true,
        completion: @escaping @Sendable (Move.Answer) -> Void
    ) -> Proposal {
        let proposal = Proposal(
            .move(move),
            asking: question,
            waited: question != nil ? self.stopwatch : nil,
            at: cursor,
            isLimited: isLimited,
            completion: completion
        )
        self.propose(proposal)
        return proposal
    }

    /// Tells how much time has passed since now, by the clock that questions go by.
    package var stopwatch: @Sendable () -> Duration {
        StateMachineCore.stopwatch(on: self.options.clock)
    }

    /// The same for a proposer's own kind of proposal, which keeps what it asked for.
    package func propose(_ proposal: Proposal) {
        switch self.holder.withLock({ $0.gate.proposed(proposal) }) {
        case .entered: self.pump()
        case .left: break
        case .refused: self.refuse(proposal, .overloaded)
        }
    }

    /// Has the log record what is in force already, behind all that has been evaluated, with the group that gathers.
    ///
    /// It waits neither for what waits its turn nor for an open question, and takes no room of theirs: a caller has to
    /// bound it. Without a log `done` is called straight away.
    ///
    /// - Parameters:
    ///   - records: what to record, all or none.
    ///   - cursor: where `done` is called, after all changes up to then.
    ///   - done: called once; nil, or why it is not recorded, or may not be.
    package func record(
        _ records: [Record],
        at cursor: Drain? = nil,
        _ done: @escaping @Sendable (Refusal?) -> Void
    ) {
        guard self.hasLog else { return done(nil) }
        let proposal = Proposal(.record(records), asking: nil, at: cursor, isLimited: false) {
            switch $0 {
            case .success: done(nil)
            case .failure(let refused): done(refused.reason)
            }
        }
        self.propose(proposal)
    }

    /// Has the log record something of which nobody is told, first in the next group, in place of what is still to be
    /// recorded of the same.
    ///
    /// What could not be committed goes with the next group that is made for somebody.
    package func note(_ record: Record) {
        guard self.hasLog else { return }
        self.holder.withLock { $0.gate.noted(record) }
        self.pump()
    }

    /// Notes why the log would commit nothing now; nil: it would.
    ///
    /// While it would not, whatever it would have to commit or to confirm is refused with ``Refusal/notCommitted(why:)`` at
    /// once, also what waits and what voters are being asked about; a group that it has waits for its answer.
    package func logObjects(because why: String?) {
        self.holder.withLock { $0.gate.logObjects(why) }
        self.pump()
    }

    /// Has recorded what could not be, and waits for a group: the log takes records again.
    package func logRecovered() {
        self.holder.withLock { $0.gate.logRecovered() }
        self.pump()
    }

    /// Enters what others have made of a machine with a log, in order; nobody is answered.
    ///
    /// What has been evaluated is evaluated again, and an open question is put anew: also where nothing was made, since
    /// voters of others may have been added before. A log that has a group answers ``Recorded/overtaken(_:)`` instead. The
    /// first change of a machine of which nobody knew where it is may have any number, and so may an arrival.
    ///
    /// - Returns: whether a group is on its way to the log that was evaluated before; it is to answer that with
    ///   ``Recorded/overtaken(_:)``, with none of these.
    @discardableResult
    package func adopt(_ changes: [Change]) -> Bool {
        let entries = changes.map { self.entry(of: $0) }
        let isCrossed = self.holder.withLock { holder in
            holder.gate.adopted(entries)
            return holder.gate.groups.underWay != nil
        }
        self.pump()
        return isCrossed
    }

    /// Answers the proposal with ``Refusal/withdrawn``, unless it is decided or with the log.
    ///
    /// The proposals behind it move up. Called from anywhere, under no lock.
    package func withdraw(_ proposal: Proposal) {
        switch self.holder.withLock({ $0.gate.withdrawn(proposal) }) {
        case .left:
            self.refuse(proposal, .withdrawn)
            self.pump()
        case .isAsked(let ballot): ballot.withdraw()
        case .isEvaluated: self.pump()
        }
    }

    /// The same for a proposal whose turn has not come; any other goes on.
    package func withdraw(ifWaiting proposal: Proposal) {
        guard self.holder.withLock({ $0.gate.withdrawnBeforeItsTurn(proposal) }) else { return }
        self.refuse(proposal, .withdrawn)
        self.pump()
    }

    /// Lets proposals gather from now on until ``endGathering()``, so that a burst is committed
    /// together and not one by one.
    ///
    /// For callers that have more to propose at once, and never wait before they release. A group
    /// that is big enough does not wait, nor does one with an assignment, whose thread waits for
    /// it.
    ///
    /// - Returns: whether they did not gather yet, so that ``endGathering()`` is due, and whether there are voters
    ///   who might be asked.
    @discardableResult
    package func beginGathering() -> (isNew: Bool, hasVoters: Bool) {
        self.holder.withLock { ($0.gate.gatheringBegan(), !$0.gate.voters.isEmpty) }
    }

    /// Whether there are voters who might be asked about a proposal.
    package var hasVoters: Bool { self.holder.withLock { !$0.gate.voters.isEmpty } }

    /// Gives what gathered to the log; without ``beginGathering()`` it does nothing.
    package func endGathering() { self.pump(from: self.after { $0.gatheringEnded(at: $1) }) }

    /// Moves the gate on until nothing is left to do, unless another thread is doing so already.
    func pump() { self.pump(from: self.after { $0.pumped(at: $1) }) }

    /// Tells the gate about an event, and does the part of its answer that needs the lock.
    ///
    /// The question that this closes, the former tail and the former place are released after the lock, with the
    /// states that they were about.
    private func after(_ event: (inout Gate, Place) -> Gate.Action?) -> Step? {
        let (step, _) = self.holder.withLock { holder in
            let (ballot, tail) = (holder.gate.ballot, holder.tail)
            let machine = holder.place
            return (event(&holder.gate, machine).map { holder.take($0) }, (ballot, tail, machine))
        }
        return step
    }

    /// Pumps from the first step, for a caller that has begun to pump.
    private func pump(from first: Step?) {
        var step = first
        while let current = step { step = self.perform(current) }
    }

    /// Performs one step, under no lock.
    ///
    /// - Returns: the next.
    private func perform(_ step: Step) -> Step? {
        switch step.action {
        case .evaluateAll(let run, let base):
            let evaluated = self.evaluate(run, from: base)
            return self.after { $0.evaluated(evaluated, from: base, at: $1) }
        case .evaluate(let proposal, let base, let hasVoters, let version):
            let decision = self.decide(proposal, base: base, hasVoters: hasVoters)
            return self.after { gate, machine in
                gate.evaluated(proposal, as: decision, from: base, since: version, at: machine) {
                    self.voted($0, on: $1)
                }
            }
        case .join(let ballot, let newcomers):
            let voters = self.voters(among: newcomers, on: ballot.motion)
            let age = ballot.ageNow
            return self.after { gate, machine in
                gate.joined(ballot, voters, at: age, machine) { self.voted($0, on: $1) }
            }
        case .confirm(let proposal, let ballot):
            let motion = ballot.motion
            let entry: ChangeEntry? =
                switch proposal.demand {
                case .move(let move) where move.condition.isMet(by: motion.current):
                    self.entry(
                        of: move,
                        from: motion.current,
                        to: motion.proposed,
                        beginsStay: motion.beginsStay
                    )
                case .move, .record: nil
                }
            return self.after { $0.confirmed(ballot, with: entry, at: $1) }
        case .ask(let question):
            question.ballot.setAlarms(question.limits, on: self.options.clock)
            self.announce(step.news)
        case .void(let ballot): ballot.withdraw()
        case .commit(let records, let group):
            guard let log = self.options.log else { break }
            let room = log.room(for: records)
            let fitting =
                room < records.count
                ? self.holder.withLock { $0.gate.shortened(to: room) } : records
            log.record(fitting) { outcome in
                var foreign: [ChangeEntry] = []
                if case .overtaken(let changes) = outcome {
                    foreign = changes.map { self.entry(of: $0) }
                }
                self.holder.withLock { $0.gate.committed(group, outcome, then: foreign) }
                self.pump()
            }
        case .follow(let entries):
            if step.news.drains.isEmpty {
                for entry in entries { entry.deliveryCount?.completeUnheard() }
            }
            self.announce(step.news)
        case .tell(let evaluated): self.tell(evaluated, of: step.news)
        }
        return self.after { $0.next($1) }
    }

    // MARK: - Evaluating

    /// Evaluates each proposal against the state as it will be after those before it; like all
    /// evaluating never under the lock, since it runs pure code of the state and the proposer.
    private func evaluate(_ run: [Proposal], from base: Place) -> [EvaluatedProposal] {
        var base = base
        return run.map { proposal in
            let fate: EvaluatedProposal.Fate
            do throws(Refused) {
                // It may have been withdrawn while the log had it, and not committed it.
                guard proposal.isStillWanted else { throw Refused(.withdrawn, current: base) }
                guard case .move(let move) = proposal.demand else {
                    return EvaluatedProposal(recording: proposal, at: base)
                }
                fate = self.fate(
                    of: move,
                    proposal,
                    try self.made(of: move, from: base),
                    from: base
                )
            } catch {
                fate = .answered(.failure(error))
            }
            let evaluated = EvaluatedProposal(proposal, fate)
            base = evaluated.place ?? base
            return evaluated
        }
    }

    /// Evaluates the first proposal, and determines which voters want to be asked.
    private func decide(_ proposal: Proposal, base: Place, hasVoters: Bool) -> Gate.Decision {
        guard case .move(let move) = proposal.demand else {
            return .settle(EvaluatedProposal(recording: proposal, at: base).fate)
        }
        do throws(Refused) {
            if case .recast(let make) = move.target {
                let recast = try make(base)
                return .settle(
                    recast.looksSame
                        ? .replacing(base.replacing(recast.value))
                        : .entering(
                            self.entry(of: move, from: base, to: recast.value, beginsStay: false)
                        )
                )
            }
            let made = try self.made(of: move, from: base)
            if let (new, beginsStay) = made.entered, hasVoters, let question = proposal.question {
                let motion = move.motion(to: new, beginsStay: beginsStay, at: base)
                let asked = self.voters(on: motion)
                guard !move.isForced else {
                    return .settle(
                        self.fate(of: move.passing(over: asked), proposal, made, from: base)
                    )
                }
                guard asked.isEmpty else {
                    let ballot = self.ballot(on: motion, under: question, of: proposal)
                    let waited = proposal.waited?() ?? .zero
                    return .ask(asked, ballot, QuestionAge(sinceProposal: waited))
                }
            }
            return .settle(self.fate(of: move, proposal, made, from: base))
        } catch {
            return .settle(.answered(.failure(error)))
        }
    }

    /// A question that is put to nobody yet.
    private func ballot(
        on motion: Motion,
        under question: Question,
        of proposal: Proposal
    ) -> Ballot {
        let (waited, asked) = (proposal.waited, self.stopwatch)
        return Ballot(on: motion, under: question) {
            QuestionAge(sinceProposal: waited?() ?? .zero, sinceQuestion: asked())
        }
    }

    private func voted(_ verdict: Verdict, on number: UInt64) {
        self.holder.withLock { $0.gate.voted(verdict, on: number) }
        self.pump()
    }

    private func made(of move: Move, from base: Place) throws(Refused) -> Move.Made {
        try move.made(from: base, announcingEqual: self.options.announcesEqual)
    }

    /// What becomes of a proposal that asks nobody.
    private func fate(
        of move: Move,
        _ proposal: Proposal,
        _ made: Move.Made,
        from base: Place
    ) -> EvaluatedProposal.Fate {
        let (new, beginsStay): (Value, Bool)
        switch made {
        case .enter(let value): (new, beginsStay) = (value, true)
        case .keep(let value): (new, beginsStay) = (value, false)
        case .renew(let value, let groups):
            guard let starts = move.starts else {
                return .answered(.success(.unchanged(base, .same)))
            }
            return .renewing(
                base.renewed(as: value),
                starts.renewal(of: base.stay, groups: groups, renewals: base.renewals &+ 1)
            )
        case .pass(let value): return .passing(base.replacing(value))
        case .nothing(let why): return .answered(.success(.unchanged(base, why)))
        }
        guard let denials = proposal.question?.denialsWithoutVoters, !move.isForced else {
            return .entering(self.entry(of: move, from: base, to: new, beginsStay: beginsStay))
        }
        let motion = move.motion(to: new, beginsStay: beginsStay, at: base)
        return .answered(.failure(Refused(motion, deniedBy: denials)))
    }

    // MARK: - Telling

    /// Tells the drains what was entered, and the proposers what became of it: those at a cursor with the changes,
    /// so that it is woken once, and if this is its context, before this returns; the others after delegates on this
    /// very thread.
    ///
    /// In the daemon the cursor is the server's: on the loop it calls `StateServer.append` for each change, and then
    /// the completions, which are `Sets.decided`.
    private func tell(_ evaluated: [EvaluatedProposal], of news: News) {
        let isEntering = evaluated.contains { $0.entry != nil }
        if isEntering, news.drains.isEmpty {
            for one in evaluated { one.entry?.deliveryCount?.completeUnheard() }
        }
        var here: Drain?
        var start = evaluated.startIndex
        while start < evaluated.endIndex {
            let cursor = evaluated[start].proposal.cursor
            let run = evaluated[start...].prefix { $0.proposal.cursor === cursor }
            start = run.endIndex
            cursor?.post(after: news.position) { mayCall in
                // By index: an iterator copies each.
                if mayCall { for index in run.indices { run[index].complete() } }
            }
            if cursor?.context.isCurrent == true { here = cursor }
        }
        if isEntering { self.announce(news) }
        here?.catchUp()
        for one in evaluated where one.proposal.cursor == nil { one.complete() }
    }

    private func refuse(_ proposal: Proposal, _ reason: Refusal) {
        let (current, news) = self.holder.withLock { ($0.place, $0.news) }
        let answer = Gate.Answer.failure(Refused(reason, current: current))
        self.tell([EvaluatedProposal(proposal, .answered(answer))], of: news)
    }
}

extension Machine.Holder {
    /// Does the part of an action that needs the lock: enters states, puts a question.
    mutating func take(_ action: Gate.Action) -> Machine.Step {
        switch action {
        case .ask(let question): self.append(question)
        case .follow(let entries):
            for entry in entries {
                precondition(
                    entry.change.follows(self.place) || !self.gate.isPlaced,
                    "a log adopts each change after the one before it, and none twice"
                )
                self.gate.isPlaced = true
                _ = self.enter(entry.change) { entry }
            }
        case .evaluateAll, .evaluate, .join, .confirm, .void, .commit: break
        case .tell(let evaluated):
            for index in evaluated.indices {
                switch evaluated[index].fate {
                case .entering(let entry): _ = self.enter(entry.change) { entry }
                case .replacing(let place), .passing(let place): self.replace(with: place)
                case .renewing(let place, let renewal):
                    self.replace(with: place)
                    renewal.enter(after: place.seq)
                case .recording, .answered: break
                }
            }
        }
        return Machine.Step(action: action, news: self.news)
    }
}
