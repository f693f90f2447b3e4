/// Performs what the gate decides.
extension Machine {
    /// An action of the gate, and whom to wake for what was appended under the lock.
    struct Step: Sendable {
        let action: Gate.Action
        let news: News?

        init(_ action: Gate.Action, news: News? = nil) {
            self.action = action
            self.news = news
        }
    }

    /// The way in that waits its turn: `completion` is called with what became of the move, once.
    ///
    /// - Parameters:
    ///   - move: what is asked for.
    ///   - question: how voters are asked; nil: nobody is.
    ///   - isTimed: whether the time until voters are asked counts towards their deadline; needless where there are
    ///     none.
    ///   - place: where the completion is called; nil: where it is decided.
    ///   - isLimited: whether it is refused if there is no room.
    ///   - completion: called with the outcome; it must not block.
    /// - Returns: the proposal, so that it can be withdrawn.
    @discardableResult
    package func propose(
        _ move: Move,
        asking question: Question?,
        isTimed: Bool = true,
        in place: (any CompletionPlace)? = nil,
        isLimited: Bool = true,
        completion: @escaping @Sendable (Move.Answer) -> Void
    ) -> PendingProposal {
        let pending = PendingProposal(
            move,
            asking: question,
            waited: isTimed && question != nil ? stopwatch(on: self.options.clock) : nil,
            place: place,
            completion: completion
        )
        switch self.holder.withLock({ $0.gate.proposed(pending, isLimited: isLimited) }) {
        case .entered: self.pump()
        case .left: break
        case .refused: self.tell(pending, .failure(Refused(.overloaded, current: self.place)))
        }
        return pending
    }

    /// Answers the proposal with ``Refusal/withdrawn``, unless it is decided or with the log.
    ///
    /// The proposals behind it move up. Called from anywhere, under no lock.
    func withdraw(_ pending: PendingProposal) {
        let (withdrawal, current) = self.holder.withLock { holder in
            (holder.gate.withdrawn(pending), holder.place)
        }
        switch withdrawal {
        case .left:
            self.tell(pending, .failure(Refused(.withdrawn, current: current)))
            self.pump()
        case .isAsked(let ballot): ballot.withdraw()
        case .isEvaluated: self.pump()
        }
    }

    /// Lets proposals gather from now on until ``releaseGroups()``, so that a burst is committed
    /// together and not one by one.
    ///
    /// For callers that have more to propose at once, and never wait before they release. A group
    /// that is big enough does not wait, nor does one with an assignment, whose thread waits for
    /// it.
    ///
    /// - Returns: whether there are voters that might be asked about a proposal.
    package func holdGroups() -> Bool {
        self.holder.withLock { holder in
            holder.gate.held()
            return !holder.gate.voters.isEmpty
        }
    }

    /// Gives what gathered to the log; without ``holdGroups()`` it does nothing.
    package func releaseGroups() { self.pump(from: self.after { $0.released(at: $1) }) }

    /// Moves the gate on until nothing is left to do, unless another thread is doing so already.
    func pump() { self.pump(from: self.after { $0.pumped(at: $1) }) }

    /// Tells the gate about an event, and does the part of its answer that needs the lock.
    ///
    /// The question that this closes, and the former tail, are released after the lock, with the states that
    /// they were about.
    private func after(_ event: (inout Gate, Place) -> Gate.Action?) -> Step? {
        let (step, _) = self.holder.withLock { holder in
            let (ballot, tail) = (holder.gate.ballot, holder.tail)
            let machine = holder.place
            return (event(&holder.gate, machine).map { holder.take($0) }, (ballot, tail))
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
            return self.after { $0.evaluated(evaluated, at: $1) }
        case .evaluate(let pending, let base, let hasVoters):
            let decision = self.decide(pending, base: base, hasVoters: hasVoters)
            return self.after { gate, machine in
                gate.evaluated(pending, as: decision, from: base, at: machine) { verdict, number in
                    self.holder.withLock { $0.gate.voted(verdict, on: number) }
                    self.pump()
                }
            }
        case .confirm(let pending, let ballot):
            let (move, base) = (pending.move, ballot.motion.current)
            let entry =
                move.condition.isMet(by: base)
                ? self.entry(of: move, from: base, to: ballot.motion.proposed) : nil
            return self.after { $0.confirmed(ballot, with: entry, at: $1) }
        case .recast(let recast, let base):
            let decision = recast.make(base)
            var entry: ChangeEntry?
            if case .changed(let state) = decision {
                let move = Move(to: .made { _ in state }, as: .update, cause: recast.cause)
                entry = self.entry(of: move, from: base, to: state)
            }
            return self.after {
                $0.recast(recast, as: decision, entering: entry, from: base, at: $1)
            }
        case .ask(let ballot, let question, let waited):
            let waited = waited?() ?? .zero
            ballot.setAlarms(under: question, waited: waited, clock: self.options.clock)
            if let news = step.news { self.announce(news) }
        case .void(let ballot): ballot.withdraw()
        case .recasted(let recast, let outcome): recast.place.run { recast.completion(outcome) }
        case .commit(let changes, let group):
            self.options.log?.record(changes) { failure in
                self.holder.withLock { $0.gate.committed(group, failure: failure) }
                self.pump()
            }
        case .tell(let evaluated): self.tell(evaluated, of: step.news)
        }
        return self.after { $0.performed(at: $1) }
    }

    // MARK: - Evaluating

    /// Evaluates each proposal against the state as it will be after those before it; like all
    /// evaluating never under the lock, since it runs pure code of the state and the proposer.
    private func evaluate(_ run: [PendingProposal], from base: Place) -> [EvaluatedProposal] {
        var base = base
        return run.map { pending in
            let fate: EvaluatedProposal.Fate
            do throws(Refused) {
                // It may have been withdrawn while the log had it, and not committed it.
                guard pending.isStillWanted else { throw Refused(.withdrawn, current: base) }
                fate = self.fate(
                    of: pending,
                    into: try self.state(of: pending, from: base),
                    from: base
                )
            } catch {
                fate = .answered(.failure(error))
            }
            if case .entering(let entry) = fate { base = entry.change.place }
            return EvaluatedProposal(pending, fate)
        }
    }

    /// Evaluates the first proposal, and determines which voters want to be asked.
    private func decide(_ pending: PendingProposal, base: Place, hasVoters: Bool) -> Gate.Decision {
        do throws(Refused) {
            let new = try self.state(of: pending, from: base)
            if let new, hasVoters, let question = pending.questionToPut {
                let motion = pending.move.motion(to: new, at: base)
                let asked = self.voters(on: motion)
                guard asked.isEmpty else { return .ask(asked, motion, question) }
            }
            return .settle(self.fate(of: pending, into: new, from: base))
        } catch {
            return .settle(.answered(.failure(error)))
        }
    }

    private func state(of pending: PendingProposal, from base: Place) throws(Refused) -> Value? {
        try pending.move.state(from: base, announcingEqual: self.options.announcesEqual)
    }

    /// What becomes of a proposal that asks nobody; nothing changes if `new` is nil.
    private func fate(
        of pending: PendingProposal,
        into new: Value?,
        from base: Place
    ) -> EvaluatedProposal.Fate {
        guard let new else { return .answered(.success(.unchanged(base))) }
        if let denials = pending.questionToPut?.denialsWithoutVoters {
            return .answered(.failure(Refused(.denied(by: denials), current: base)))
        }
        return .entering(self.entry(of: pending.move, from: base, to: new))
    }

    // MARK: - Telling

    private func tell(_ evaluated: [EvaluatedProposal], of news: News?) {
        if let news, news.drains.isEmpty {
            for one in evaluated { one.entry?.deliveryCount?.completeUnheard() }
        }
        // Delegates on this very thread are told before any completion, and may wait for others.
        let isHeardHere = news?.drains.contains(where: \.isInline) ?? false
        guard !isHeardHere, let place = evaluated.first?.pending.place else {
            if let news { self.announce(news) }
            self.tell(evaluated[...])
            return
        }
        place.together {
            self.tell(evaluated[...])
            if let news { self.announce(news) }
        }
    }

    private func tell(_ pending: PendingProposal, _ answer: Gate.Answer) {
        self.tell([EvaluatedProposal(pending, .answered(answer))])
    }

    /// Completes each; successive ones with the same place are completed there together.
    private func tell(_ evaluated: ArraySlice<EvaluatedProposal>) {
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

extension Machine.Holder {
    /// Does the part of an action that needs the lock: enters states, puts a question.
    mutating func take(_ action: Gate.Action) -> Machine.Step {
        switch action {
        case .ask(let ballot, _, _):
            self.append(QuestionEntry(ballot))
            return .init(action, news: self.news)
        case .recasted(_, .same(let place)):
            self.replace(with: place)
            return .init(action)
        case .evaluateAll, .evaluate, .confirm, .void, .recast, .recasted, .commit:
            return .init(action)
        case .tell(let evaluated):
            var isEntering = false
            for index in evaluated.indices {
                guard case .entering(let entry) = evaluated[index].fate else { continue }
                isEntering = true
                _ = self.enter(entry)
            }
            return .init(action, news: isEntering ? self.news : nil)
        }
    }
}
