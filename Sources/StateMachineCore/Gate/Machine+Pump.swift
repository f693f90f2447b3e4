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
    func after(
        _ event: (inout Gate, Place) -> Gate.Action?
    ) -> Step? {
        let (step, _) = self.holder.withLock { holder in
            let (ballot, tail) = (holder.gate.ballot, holder.tail)
            let machine = holder.place
            return (event(&holder.gate, machine).map { holder.take($0) }, (ballot, tail))
        }
        return step
    }

    /// Pumps from the first step, for a caller that has begun to pump.
    func pump(from first: Step?) {
        var step = first
        while let current = step {
            switch current.action {
            case .evaluateAll(let run, let base):
                let evaluated = self.evaluate(run, from: base)
                step = self.after { $0.evaluated(evaluated, at: $1) }
            case .commit(let changes, let group):
                self.options.log?.record(changes) { failure in
                    self.holder.withLock { $0.gate.committed(group, failure: failure) }
                    self.pump()
                }
                step = self.after { $0.performed(at: $1) }
            case .tell(let evaluated):
                self.tell(evaluated, of: current.news)
                step = self.after { $0.performed(at: $1) }
            case .asking(let asking): step = self.perform(asking, of: current.news)
            case .recasting(let recasting): step = self.perform(recasting)
            }
        }
    }

    // MARK: - Evaluating

    /// Evaluates each proposal against the state as it will be after those before it; like all
    /// evaluating never under the lock, since it runs pure code of the state and the proposer.
    func evaluate(
        _ run: [PendingProposal],
        from base: Place
    ) -> [EvaluatedProposal] {
        var base = base
        return run.map { pending in
            let fate: EvaluatedProposal.Fate
            do throws(Refused) {
                // It may have been withdrawn while the log had it, and not committed it.
                guard pending.isStillWanted else { throw Refused(.withdrawn, current: base) }
                let new = try pending.move.state(
                    from: base,
                    announcingEqual: self.options.announcesEqual
                )
                fate = self.fate(of: pending, into: new, from: base)
            } catch {
                fate = .answered(.failure(error))
            }
            if case .entering(let entry) = fate { base = entry.change.place }
            return EvaluatedProposal(pending, fate)
        }
    }

    /// What becomes of a proposal that asks nobody; nothing changes if `new` is nil.
    func fate(
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

    func tell(_ evaluated: [EvaluatedProposal], of news: News?) {
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

    func tell(_ pending: PendingProposal, _ answer: Gate.Answer) {
        self.tell([EvaluatedProposal(pending, .answered(answer))])
    }

    /// Completes each; successive ones with the same place are completed there together.
    func tell(_ evaluated: ArraySlice<EvaluatedProposal>) {
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
        case .asking(.put(let ballot, _, _)):
            self.append(QuestionEntry(ballot))
            return .init(action, news: self.news)
        case .recasting(.replace(_, _, let state)):
            self.replace(with: state)
            return .init(action)
        case .evaluateAll, .commit, .asking, .recasting: return .init(action)
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
